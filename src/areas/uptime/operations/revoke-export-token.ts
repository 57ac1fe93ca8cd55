import { uptime } from '../../../../contract/uptime.ts';
import { audit } from '../../../identity/audit.ts';
import { noContent, operation } from '../../../identity/operation.ts';
import { topics } from '../../../identity/principal.ts';
import { notFound } from '../../../kernel/errors.ts';
import { revokeToken } from '../store/export-tokens.ts';

export const revokeExportToken = operation(uptime.revokeExportToken, async ({ ctx, params }) =>
  ctx.write(async (tx) => {
    const token = (await revokeToken(tx, ctx.org, params.id)) ?? notFound('export token');
    await audit(tx, ctx, 'uptime.export.revoke', token, { name: token.name });
    await ctx.app.caches.drop(tx, topics.credential(token.id));
    return noContent();
  }),
);
