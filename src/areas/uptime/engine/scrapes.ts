import { Readable } from 'node:stream';
import { Refusal } from '../../../kernel/errors.ts';
import { guarded } from '../../../kernel/faults/guarded.ts';

/** Per organization and process: a scrape holds its snapshot in memory until it was read. A pair of Prometheus servers needs two. */
const maxConcurrentScrapes = 3;
/** A scraper that reads for longer than this is cut off. Prometheus itself gives up after 10 s by default. */
const maxScrapeSeconds = 60;

/** The scrapes under way, by organization. */
export type Scrapes = Map<string, number>;

export const makeScrapes = (): Scrapes => new Map();

/** Gathers a snapshot and streams it in pieces. The scrape counts against the limit from before the work begins until the stream closes. */
export async function openScrape(scrapes: Scrapes, org: string, gather: () => Promise<AsyncIterable<string>>): Promise<Readable> {
  const release = acquireScrape(scrapes, org);
  try {
    const stream = Readable.from(await gather(), { highWaterMark: 1 });
    const late = setTimeout(
      () => stream.destroy(new Error(`the scraper did not read what it asked for within ${maxScrapeSeconds} s`)),
      maxScrapeSeconds * 1_000,
    ).unref();
    // The reader hears of an error from the stream itself. A scraper that left before there was anything to read leaves the stream without
    // a listener, and the error would end the process.
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
