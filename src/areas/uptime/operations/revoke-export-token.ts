import { uptime } from '../../../../contract/uptime.ts';
import { audit } from '../../../identity/audit.ts';
import { noContent, operation } from '../../../identity/operation.ts';
import * as tokens from '../engine/export-tokens.ts';

export const revokeExportToken = operation(uptime.revokeExportToken, async ({ ctx, params }) =>
  ctx.write(async (tx) => {
    const token = await tokens.revokeExportToken(tx, ctx.app.caches, ctx.org, params.id);
    await audit(tx, ctx, 'uptime.export.revoke', token, { name: token.name });
    return noContent();
  }),
);
