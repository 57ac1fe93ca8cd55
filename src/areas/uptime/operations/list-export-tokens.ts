import { uptime } from '../../../../contract/uptime.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { tokensOf } from '../store/export-tokens.ts';
import { exportTokenView } from '../views/export-token.ts';

export const listExportTokens = operation(uptime.listExportTokens, async ({ ctx }) =>
  ctx.read(async (tx) => ok({ tokens: (await tokensOf(tx, ctx.org)).map(exportTokenView) })),
);
