/**
 * What the console promises, measured. `npm run bench -- console`, or a part of it: `streams`.
 *
 * streams: memory and processor time of a thousand idle event streams, and the time from a write to the hint on a stream of another
 * browser, at the same server and at another one.
 *
 * lists: 10,000 tags and 100,000 messages in a browser, from the click until they are seen, and from a filter until its rows are.
 */
import { measureLists } from './console/lists.ts';
import { measureStreams } from './console/streams.ts';

const parts: Record<string, () => Promise<void>> = { streams: measureStreams, lists: measureLists };

const wanted = process.argv.slice(3);
const unknown = wanted.find((part) => !parts[part]);
if (unknown !== undefined) {
  console.error(`there is no part "${unknown}"; npm run bench -- console ${Object.keys(parts).join(' | ')}`);
  process.exit(2);
}
for (const [name, measure] of Object.entries(parts)) if (!wanted.length || wanted.includes(name)) await measure();
