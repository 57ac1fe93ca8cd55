import { uptime } from '../../../../contract/uptime.ts';
import { okInPieces, operation } from '../../../identity/operation.ts';
import { Refusal } from '../../../kernel/errors.ts';
import { isLiveToken, useExportToken } from '../engine/export-tokens.ts';
import { openScrape } from '../engine/scrapes.ts';
import { gatherSnapshot, writeSnapshot } from '../engine/snapshot.ts';
import type { OpenUptime } from '../open.ts';

const gone = (): never => {
  throw new Refusal(401, 'unauthenticated', 'no valid session: the export token is unknown or revoked; mint another one', {
    headers: { 'www-authenticate': 'Bearer realm="quarterdeck"' },
  });
};

/** Streams plain text; planes/export converts it to the format that the scraper asked for. */
export const scrapeUptimeMetrics = operation(uptime.scrapeUptimeMetrics, async ({ ctx }, { scrapes }: OpenUptime) => {
  const { principal } = ctx;
  if (!principal) return gone();
  const org = principal.org.id;
  const isLive = () => ctx.read((tx) => isLiveToken(tx, org, principal.id));
  const stream = await openScrape(scrapes, org, async () => {
    const snapshot = await gatherSnapshot(ctx.read, org);
    // Revoked while this was gathered: nothing of it is sent.
    if (!(await ctx.app.db.write((tx) => useExportToken(tx, org, principal.id)))) gone();
    return endingWith(writeSnapshot(snapshot), isLive);
  });
  return okInPieces(stream);
});

/** The token was revoked while the text was sent: the answer is cut off before its end, which scrapers treat as a failure. */
async function* endingWith(pieces: AsyncIterable<string>, isLive: () => Promise<boolean>): AsyncGenerator<string> {
  let last: string | undefined;
  for await (const piece of pieces) {
    if (last !== undefined) yield last;
    last = piece;
  }
  if (!(await isLive())) gone();
  if (last !== undefined) yield last;
}
