import { tokens } from '../../../../contract/tokens.ts';
import { created, operation } from '../../../identity/operation.ts';
import { mintToken } from '../engine/tokens.ts';
import type { OpenTokens } from '../open.ts';

export const createToken = operation(tokens.createToken, async ({ ctx, body }, { resources }: OpenTokens) =>
  ctx.write(async (tx) => {
    const { id, key } = await mintToken(tx, ctx, body, resources);
    return created({ id, key, orgSlug: ctx.principal.org.slug }, `/tokens/${id}`);
  }),
);
