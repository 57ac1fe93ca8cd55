import { Readable } from 'node:stream';
import { Refusal } from '../../../kernel/errors.ts';
import { guarded } from '../../../kernel/faults/guarded.ts';

/** At once, of one organization in one process: what a scrape gathers stays in memory until it was read. A pair of scrapers is two. */
const maxConcurrentScrapes = 3;
/** A scraper that reads slower than this is cut off; they give up by themselves after 10 s as they come. */
const maxScrapeSeconds = 60;

/** The scrapes under way, by organization. */
export type Scrapes = Map<string, number>;

export const makeScrapes = (): Scrapes => new Map();

/** Gathers what a scrape tells and hands it out in pieces. Its place is taken before the work begins, and free when it was read. */
export async function openScrape(scrapes: Scrapes, org: string, gather: () => Promise<AsyncIterable<string>>): Promise<Readable> {
  const release = acquireScrape(scrapes, org);
  try {
    const stream = Readable.from(await gather(), { highWaterMark: 1 });
    const late = setTimeout(
      () => stream.destroy(new Error(`the scraper did not read what it asked for within ${maxScrapeSeconds} s`)),
      maxScrapeSeconds * 1_000,
    ).unref();
    // Whoever reads it hears of an error by itself. If nobody does, since the scraper had left before there was anything to read, an
    // error without a listener would end the process.
    stream.on('error', () => {});
    return stream.once(
      'close',
      guarded('uptime.scrapes.close', stream, () => {
        clearTimeout(late);
        release();
      }),
    );
  } catch (error) {
    release();
    throw error;
  }
}

function acquireScrape(scrapes: Scrapes, org: string): () => void {
  const underWay = scrapes.get(org) ?? 0;
  if (underWay >= maxConcurrentScrapes)
    throw new Refusal(
      429,
      'rate_limited',
      `${maxConcurrentScrapes} scrapes of this organization are under way; come again when one has ended`,
      {
        headers: { 'retry-after': '5' },
      },
    );
  scrapes.set(org, underWay + 1);
  return () => {
    const left = scrapes.get(org)! - 1;
    if (left > 0) scrapes.set(org, left);
    else scrapes.delete(org);
  };
}
