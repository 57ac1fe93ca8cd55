import { tokens } from '../../../../contract/tokens.ts';
import { mintToken } from '../../../identity/engine/tokens.ts';
import { created, operation } from '../../../identity/operation.ts';

export const createToken = operation(tokens.createToken, async ({ ctx, body }) =>
  ctx.write(async (tx) => {
    const { id, key } = await mintToken(tx, ctx, body, ctx.app.ports.resources);
    return created({ id, key, orgSlug: ctx.principal.org.slug }, `/tokens/${id}`);
  }),
);
