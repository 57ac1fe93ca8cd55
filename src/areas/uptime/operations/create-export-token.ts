import { uptime } from '../../../../contract/uptime.ts';
import { audit } from '../../../identity/audit.ts';
import { created, operation } from '../../../identity/operation.ts';
import { mintExportToken } from '../engine/export-tokens.ts';

export const createExportToken = operation(uptime.createExportToken, async ({ ctx, body }) =>
  ctx.write(async (tx) => {
    const made = await mintExportToken(tx, ctx.org, body.name);
    await audit(tx, ctx, 'uptime.export.create', made, { name: made.name });
    return created({ id: made.id, name: made.name, token: made.key, createdAt: made.created_at }, `/uptime/export-tokens/${made.id}`);
  }),
);
