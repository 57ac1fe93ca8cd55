/**
 * What the console promises, measured. `npm run bench -- console`, or some parts of it: `monitors clicks changes streams lists`.
 *
 * monitors: 1,000 monitors with a day of checks, from the click to the painted list, and filtered.
 * clicks: a tour over the screens in the npm-carried Chromium, from the event to the painted frame.
 * changes: from a click in one browser to the painted frame in another.
 * streams: memory and processor time of a thousand idle event streams, and the time from a write to the hint on a stream of another
 * browser, at the same server and at another one.
 * lists: 10,000 tags and 100,000 messages in a browser, from the click until they are seen, and from a filter until its rows are.
 */
import { measureChanges } from './console/changes.ts';
import { measureClicks } from './console/clicks.ts';
import { measureLists } from './console/lists.ts';
import { type MeasuredConsole, measuredConsole } from './console/measured-console.ts';
import { measureMonitors } from './console/monitors.ts';
import { measureStreams } from './console/streams.ts';

const inBrowser: Record<string, (console: MeasuredConsole) => Promise<void>> = {
  monitors: measureMonitors,
  clicks: measureClicks,
  changes: measureChanges,
};
const alone: Record<string, () => Promise<void>> = { streams: measureStreams, lists: measureLists };
const names = [...Object.keys(inBrowser), ...Object.keys(alone)];

const wanted = process.argv.slice(3);
const unknown = wanted.find((part) => !names.includes(part));
if (unknown !== undefined) {
  console.error(`there is no part "${unknown}"; npm run bench -- console ${names.join(' | ')}`);
  process.exit(2);
}
const isWanted = (part: string) => !wanted.length || wanted.includes(part);

const parts = Object.entries(inBrowser).filter(([name]) => isWanted(name));
if (parts.length) {
  const measured = await measuredConsole(1_000);
  try {
    for (const [, measure] of parts) await measure(measured);
  } finally {
    await measured.stop();
  }
}
for (const [name, measure] of Object.entries(alone)) if (isWanted(name)) await measure();
