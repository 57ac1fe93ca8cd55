import { iam } from '../../../../contract/iam.ts';
import { audit } from '../../../identity/audit.ts';
import { covers, grantsOf } from '../../../identity/rules/grants.ts';
import { noContent, operation } from '../../../identity/operation.ts';
import { topics } from '../../../identity/principal.ts';
import { atomsOf, customRoles } from '../../../identity/engine/scopes.ts';
import { forbidden, notFound } from '../../../kernel/errors.ts';
import * as store from '../../../identity/store/roles.ts';

export const deleteGrant = operation(iam.deleteGrant, async ({ ctx, params }) =>
  ctx.write(async (tx) => {
    const grant = (await store.lockGrant(tx, ctx.org, params.id)) ?? notFound('grant');
    const held = grantsOf([{ role: grant.role, resourceIds: grant.resource_ids }], atomsOf(await customRoles(tx, ctx.org)));
    if (!covers(ctx.principal.grants, held)) forbidden(`you do not hold everything that ${grant.role} gives, so you cannot take it away`);

    await store.deleteGrant(tx, ctx.org, grant.id);
    await audit(tx, ctx, 'iam.grant.delete', grant, { subject: grant.user_id, role: grant.role });
    await ctx.app.caches.drop(tx, topics.user(ctx.org, grant.user_id));
    return noContent();
  }),
);
