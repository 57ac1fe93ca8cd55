import { uptime } from '../../../../contract/uptime.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { tokensOf } from '../store/export-tokens.ts';

export const listExportTokens = operation(uptime.listExportTokens, async ({ ctx }) =>
  ctx.read(async (tx) =>
    ok({
      tokens: (await tokensOf(tx, ctx.org)).map((t) => ({ id: t.id, name: t.name, createdAt: t.created_at, lastUsedAt: t.last_used_at })),
    }),
  ),
);
