import { age, ago } from '../../sdk/browser.ts';
import { now, serverNow } from '../data/clock.ts';

/** A moment, in the words of the person's own zone and language. An odd locale of the browser falls back to UTC. */
export function written(at: string | number, options: Intl.DateTimeFormatOptions = { dateStyle: 'medium', timeStyle: 'short' }): string {
  const moment = new Date(at);
  try {
    return formatFor(options).format(moment);
  } catch {
    return moment.toISOString().replace('T', ' ').slice(0, 16);
  }
}

/** One for each way of writing: a screen of rows writes hundreds of moments, and making a format costs more than all of them. */
const formats = new Map<string, Intl.DateTimeFormat>();

function formatFor(options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = JSON.stringify(options);
  let format = formats.get(key);
  if (!format) {
    format = new Intl.DateTimeFormat(navigator.languages?.length ? [...navigator.languages] : undefined, options);
    formats.set(key, format);
  }
  return format;
}

const utc = (at: string | number) =>
  new Date(at)
    .toISOString()
    .replace('T', ' ')
    .replace(/\.\d+Z$/, ' UTC');

/** `3h`, or with `long` `3h ago`; the title tells the moment in UTC. */
export function Age({ at, long }: { at: string; long?: boolean }) {
  const moment = Date.parse(at);
  // It is drawn again at each tick; what was written since the last one is not in the future.
  const current = Math.max(now.value, serverNow());
  // Nor is what the server just wrote: its `Date` has whole seconds.
  const isJustNow = moment > current && moment - current < 5_000;
  const text = isJustNow ? 'now' : (long ? ago : age)(moment, current);
  return (
    <time dateTime={at} title={`${written(at)} · ${utc(at)}`}>
      {text}
    </time>
  );
}

export const Moment = ({ at, options }: { at: string; options?: Intl.DateTimeFormatOptions }) => (
  <time dateTime={at} title={utc(at)}>
    {written(at, options)}
  </time>
);

const instant = /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{3})?Z/g;

/** A sentence of the server, with its moments in the person's own zone. */
export const inOwnTime = (text: string): string =>
  text.replace(instant, (at) => (Number.isNaN(Date.parse(at)) ? at : written(at, { dateStyle: 'short', timeStyle: 'medium' })));
