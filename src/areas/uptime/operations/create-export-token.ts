import { uptime } from '../../../../contract/uptime.ts';
import { audit } from '../../../identity/audit.ts';
import { created, operation } from '../../../identity/operation.ts';
import { mintKey } from '../../../identity/token-format.ts';
import { insertToken } from '../store/export-tokens.ts';

export const createExportToken = operation(uptime.createExportToken, async ({ ctx, body }) =>
  ctx.write(async (tx) => {
    const { key: token, hash } = mintKey('scrape');
    const made = await insertToken(tx, ctx.org, body.name, hash);
    await audit(tx, ctx, 'uptime.export.create', made, { name: made.name });
    return created({ id: made.id, name: made.name, token, createdAt: made.created_at }, `/uptime/export-tokens/${made.id}`);
  }),
);
