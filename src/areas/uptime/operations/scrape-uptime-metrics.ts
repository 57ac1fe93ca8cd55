import { uptime } from '../../../../contract/uptime.ts';
import { authorize } from '../../../identity/context.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { Refusal } from '../../../kernel/errors.ts';
import { useExportToken } from '../engine/export-tokens.ts';
import { snapshotOf } from '../engine/snapshot.ts';
import { families } from '../rules/export-families.ts';
import { text } from '../rules/export-text.ts';

const gone = (): never => {
  throw new Refusal(401, 'unauthenticated', 'no valid session: the export token is unknown or revoked; mint another one', {
    headers: { 'www-authenticate': 'Bearer realm="quarterdeck"' },
  });
};

/** As plain text; planes/export writes it as the scraper asked for it. */
export const scrapeUptimeMetrics = operation(uptime.scrapeUptimeMetrics, async ({ ctx }) => {
  const { principal } = ctx;
  if (!principal) return gone();
  authorize(uptime.scrapeUptimeMetrics, principal);
  return ctx.read(async (tx) => {
    const written = text(families(await snapshotOf(tx, principal.org.id)));
    // Revoked while this was written: what is on its way is not sent.
    if (!(await useExportToken(tx, principal.org.id, principal.id))) gone();
    return ok(written);
  });
});
