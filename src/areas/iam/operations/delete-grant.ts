import { iam } from '../../../../contract/iam.ts';
import { withdrawGrant } from '../../../identity/engine/grants.ts';
import { noContent, operation } from '../../../identity/operation.ts';
import { lockGrant } from '../../../identity/store/grants.ts';
import { notFound } from '../../../kernel/errors.ts';

export const deleteGrant = operation(iam.deleteGrant, async ({ ctx, params }) =>
  ctx.write(async (tx) => {
    const grant = (await lockGrant(tx, ctx.org, params.id)) ?? notFound('grant');
    await withdrawGrant(tx, ctx, grant);
    return noContent();
  }),
);
