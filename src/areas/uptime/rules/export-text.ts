// Prometheus' text format 0.0.4 and OpenMetrics 1.0, written by hand: a registry of metric objects per organization and scrape would cost
// more than the text, and would keep series of deleted monitors.

export interface Sample {
  /** As `labelText` writes them. A monitor's labels are the same in many families and are built once. */
  labels: string;
  /** One more label, whose value needs no escaping. */
  extraLabel?: readonly [name: string, value: string];
  value: number;
  /** `_bucket`, `_sum` or `_count` of a histogram. */
  suffix?: string;
}

export interface Family {
  name: string;
  type: 'gauge' | 'counter' | 'histogram';
  help: string;
  /** Generated while the text is written. */
  samples: Iterable<Sample>;
}

const escapes: Record<string, string> = { '\\': '\\\\', '\n': '\\n', '"': '\\"' };
const escaped = (text: string) => text.replaceAll(/[\\\n"]/g, (c) => escapes[c]!);

export const labelText = (labels: Readonly<Record<string, string>>): string =>
  Object.entries(labels)
    .map(([name, value]) => `${name}="${escaped(value)}"`)
    .join(',');

const number = (value: number) => (Number.isFinite(value) ? String(value) : Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf');

function lineOf(name: string, { labels, extraLabel, value, suffix = '' }: Sample): string {
  const all = extraLabel ? `${labels}${labels && ','}${extraLabel[0]}="${extraLabel[1]}"` : labels;
  return `${name}${suffix}${all && `{${all}}`} ${number(value)}\n`;
}

/** A piece is at most this long plus one line: it is written in one turn of the event loop. */
export const maxPieceLength = 32 * 1024;

/**
 * The text in pieces; the head of a family is a piece of its own. Families without a sample are left out. There are no timestamps: stale
 * series are not exported at all.
 */
export function* writePieces(families: Iterable<Family>): Generator<string> {
  for (const { name, type, help, samples } of families) {
    let isBegun = false;
    let piece = '';
    for (const sample of samples) {
      if (!isBegun) yield `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
      isBegun = true;
      piece += lineOf(name, sample);
      if (piece.length < maxPieceLength) continue;
      yield piece;
      piece = '';
    }
    if (piece) yield piece;
  }
}

/** Converts to OpenMetrics: a counter's family has no `_total`, and `# EOF` marks the end, so that a truncated text shows. */
export async function* asOpenMetrics(pieces: AsyncIterable<string> | Iterable<string>): AsyncGenerator<string> {
  for await (const piece of pieces)
    yield piece.startsWith('# HELP ') ? piece.replaceAll(/^# (HELP|TYPE) (\S+)_total /gm, '# $1 $2 ') : piece;
  yield '# EOF\n';
}

/** Bounds as OpenMetrics wants them in both formats, so that a series is the same whichever was asked for. */
export const bound = (le: number): string => (Number.isInteger(le) ? `${le}.0` : String(le));

export type Format = 'text' | 'openmetrics';

export const contentTypes: Record<Format, string> = {
  text: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
};

interface Accepted {
  type: string;
  version: string | undefined;
  q: number;
}

const accepted = (header: string): Accepted[] =>
  header.split(',').map((part) => {
    const [type = '', ...parameters] = part.split(';').map((p) => p.trim().toLowerCase());
    const of = (name: string) => parameters.find((p) => p.startsWith(`${name}=`))?.slice(name.length + 1);
    const q = Number(of('q') ?? 1);
    return { type, version: of('version')?.replaceAll('"', ''), q: Number.isNaN(q) ? 0 : q };
  });

/** RFC 9110 12.5.1, as far as scrapers use it: the format with the highest preference, and plain text in doubt. */
export function formatFor(header: string | undefined): Format {
  const all = accepted(header ?? '');
  const best = (fits: (a: Accepted) => boolean) => Math.max(0, ...all.filter(fits).map((a) => a.q));
  const open = best((a) => a.type === 'application/openmetrics-text' && (a.version === undefined || a.version === '1.0.0'));
  const plain = best((a) => a.type === 'text/plain');
  return open > 0 && open >= plain ? 'openmetrics' : 'text';
}

export const takesGzip = (header: string | undefined): boolean => accepted(header ?? '').some((a) => a.type === 'gzip' && a.q > 0);
