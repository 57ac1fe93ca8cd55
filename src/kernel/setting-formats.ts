import { isIP, isIPv4 } from 'node:net';
import { exitCodes, Stop } from './errors.ts';

/** How a setting is written. `show` is the inverse of `parse`: what it gives can be put into the environment or the file. */
export interface Format<T> {
  parse(text: string, key: string): T;
  show(value: T): string;
  /** What may be written, where the meaning of the setting does not say it. */
  takes?: string;
}

export const refuse = (key: string, want: string): never => {
  throw new Stop(exitCodes.configuration, `the setting ${key} is wrong: ${want}`);
};

/** A text that stands for itself, checked or mended by `parse`. */
const written = (parse: Format<string>['parse']): Format<string> => ({ parse, show: (value) => value });
const joined = (values: readonly string[]) => values.join(',');

export const text = written((v) => v);

const splitList = (v: string): string[] =>
  v
    .split(',')
    .map((s) => s.trim())
    .filter(Boolean);
export const list: Format<string[]> = { parse: splitList, show: joined };

export const integer = (min: number, max: number): Format<number> => ({
  parse: (v, key) => {
    const n = /^\d{1,15}$/.test(v.trim()) ? Number(v) : Number.NaN; // Number('') is 0, and would switch a limit off
    return n >= min && n <= max ? n : refuse(key, `expected a whole number from ${min} to ${max}, found "${v}"`);
  },
  show: String,
});

/** In order of size: a value is shown in the largest unit that divides it. */
const byteUnits = { B: 1, kB: 1e3, KiB: 2 ** 10, MB: 1e6, MiB: 2 ** 20, GB: 1e9, GiB: 2 ** 30, TB: 1e12, TiB: 2 ** 40 };
const secondUnits = { s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800 };

interface Quantity {
  units: Readonly<Record<string, number>>;
  /** The unit of a plain number, and of the value; and how people call it. */
  plain: string;
  inWords: string;
  min: number;
  max: number;
  what: string;
  example: string;
}

/** A whole number with a unit, or without one in the unit that the setting is kept in. */
function quantity({ units, plain, inWords, min, max, what, example }: Quantity): Format<number> {
  const one = units[plain]!;
  const show = (value: number): string => {
    const amount = value * one;
    const unit = Object.keys(units).findLast((name) => units[name]! >= one && amount % units[name]! === 0);
    return value === 0 || unit === undefined ? String(value) : `${amount / units[unit]!}${unit}`;
  };
  const parse = (v: string, key: string): number => {
    const [, amount = '', unit = plain] = /^(\d{1,15}) ?([a-z]{1,3})?$/i.exec(v.trim()) ?? [];
    const factor = Object.entries(units).find(([name]) => name.toLowerCase() === unit.toLowerCase())?.[1] ?? Number.NaN;
    const value = amount === '' ? Number.NaN : (Number(amount) * factor) / one;
    return Number.isSafeInteger(value) && value >= min && value <= max
      ? value
      : refuse(key, `expected ${what} from ${show(min)} to ${show(max)} such as ${example}, in whole ${inWords}, found "${v}"`);
  };
  return { parse, show, takes: `${inWords}, or with a unit such as ${example}` };
}

/** Kept in `plain`. */
export const bytes = (min: number, max: number, plain: 'B' | 'MiB' = 'B'): Format<number> =>
  quantity({
    units: byteUnits,
    plain,
    inWords: plain === 'B' ? 'bytes' : plain,
    min,
    max,
    what: 'a size',
    example: plain === 'B' ? '10GiB' : '1GiB',
  });
export const duration = (min: number, max: number, plain: 's' | 'd' = 's'): Format<number> =>
  quantity({
    units: secondUnits,
    plain,
    inWords: plain === 's' ? 'seconds' : 'days',
    min,
    max,
    what: 'a duration',
    example: plain === 's' ? '15m' : '52w',
  });

/** Different ones in order, at least one. */
export function durations(min: number, max: number): Format<number[]> {
  const each = duration(min, max);
  return {
    parse: (v, key) => {
      const found = splitList(v).map((one) => each.parse(one, key));
      return found.length ? [...new Set(found)].sort((a, b) => a - b) : refuse(key, 'expected at least one duration such as 30s');
    },
    show: (values) => joined(values.map(each.show)),
    takes: each.takes!,
  };
}

/** Not a regular expression: `/\/+$/` restarts at each slash of a long run. */
const trimSlashes = (v: string): string => {
  let end = v.length;
  while (v[end - 1] === '/') end--;
  return v.slice(0, end);
};
export const url = written((v, key) =>
  v === '' || (/^https?:\/\//.test(v) && URL.canParse(v)) ? trimSlashes(v) : refuse(key, `expected an http or https URL, found "${v}"`),
);
/** The directory of a certificate authority: RFC 8555 asks for https; plain HTTP only to this machine. */
export const directoryUrl = written((v, key) => {
  const { protocol, hostname } = URL.canParse(v) ? new URL(v) : { protocol: '', hostname: '' };
  const isHere =
    protocol === 'http:' && (hostname === 'localhost' || hostname === '[::1]' || (isIP(hostname) === 4 && hostname.startsWith('127.')));
  return protocol === 'https:' || isHere ? v : refuse(key, `expected an https URL, found "${v}"`);
});
export const emailAddress = written((v, key) =>
  v === '' || (v.length <= 254 && /^[^\s@<>"(),:;\\[\]?&]{1,64}@[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/i.test(v))
    ? v
    : refuse(key, `expected an email address such as you@example.com, found "${v}"`),
);
export const choice = (...values: string[]): Format<string> =>
  written((v, key) => (values.includes(v) ? v : refuse(key, `"${v}" is none of ${values.join(', ')}`)));
export const path = written((v, key) => v || refuse(key, 'expected a directory, found nothing'));
export const domain = written((v, key) =>
  v === '' || (v.length <= 190 && /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+$/.test(v))
    ? v
    : refuse(key, `expected a domain in lower case such as clusters.example.com, found "${v}"`),
);
export const internalPath = written((v, key) =>
  v === '' || /^(?:\/[a-z0-9_-]+)+$/i.test(v) ? v : refuse(key, `expected a path such as /layers, found "${v}"`),
);

/** `host:port`, `:port` or a bare port. Port 0 lets the system choose. */
export const address: Format<{ host: string; port: number }> = {
  parse: (v, key) => {
    const m = /^(?:(\[[0-9a-fA-F:.]+\]|[^:\s[\]]*):)?(\d{1,5})$/.exec(v);
    if (!m || Number(m[2]) > 65535) return refuse(key, `expected host:port, found "${v}"`);
    return { host: (m[1] || '127.0.0.1').replace(/^\[|\]$/g, ''), port: Number(m[2]) };
  },
  show: ({ host, port }) => `${host.includes(':') ? `[${host}]` : host}:${port}`,
};

/** The same, where nothing at all means that there is none. */
export const orNone = <T>({ parse, show }: Format<T>): Format<T | undefined> => ({
  parse: (v, key) => (v === '' ? undefined : parse(v, key)),
  show: (value) => (value === undefined ? '' : show(value)),
});

export const oneOf = <T extends string>(...values: T[]): Format<T[]> => ({
  parse: (v, key) => {
    const found = splitList(v);
    for (const f of found) if (!values.includes(f as T)) refuse(key, `"${f}" is none of ${values.join(', ')}`);
    return found as T[];
  },
  show: joined,
});

/** The same, but an empty list is an error. */
export const someOf = <T extends string>(...values: T[]): Format<T[]> => ({
  parse: (v, key) => {
    const some = [...new Set(oneOf(...values).parse(v, key))];
    return some.length ? some : refuse(key, `expected at least one of ${values.join(', ')}`);
  },
  show: joined,
});

/** A range of user ids, first and last. The ids 65534, 65535 and those of system users are refused. */
export const userRange: Format<{ first: number; last: number }> = {
  parse: (v, key) => {
    const [, first = 0, last = 0] = /^(\d{1,10})-(\d{1,10})$/.exec(v.trim())?.map(Number) ?? [];
    const holdsNobody = first <= 65_535 && last >= 65_534;
    return first >= 1_000 && last > first && last < 2 ** 31 && !holdsNobody
      ? { first, last }
      : refuse(key, `expected a range such as 1900000000-1900999999, from 1000 on and without 65534 and 65535, found "${v}"`);
  },
  show: ({ first, last }) => `${first}-${last}`,
};

/** RFC 1918 and carrier-grade NAT (RFC 6598), each as its first address and its bits. */
const privateRanges = [
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
] as const;

/** Every command reads the settings, so no library for addresses is loaded here. */
const ipv4Number = (host: string): number => host.split('.').reduce((sum, byte) => sum * 256 + Number(byte), 0);

/** A network that is not of the public internet. */
export const privateNetwork = (minBits: number, maxBits: number): Format<string> =>
  written((v, key) => {
    const want = `expected a private IPv4 network from /${minBits} to /${maxBits} such as 100.64.0.0/10, found "${v}"`;
    const [, host = '', bits = ''] = /^([0-9.]{7,15})\/(\d{1,2})$/.exec(v) ?? [];
    if (!isIPv4(host) || Number(bits) < minBits || Number(bits) > maxBits) return refuse(key, want);
    const first = ipv4Number(host);
    const isPrivate = privateRanges.some(
      ([start, rangeBits]) => Number(bits) >= rangeBits && first >= ipv4Number(start) && first < ipv4Number(start) + 2 ** (32 - rangeBits),
    );
    return first % 2 ** (32 - Number(bits)) === 0 && isPrivate ? v : refuse(key, want);
  });

/** `host=endpoint`, or a host alone that answers at https://host. */
export const upstreams: Format<{ host: string; endpoint: string }[]> = {
  parse: (v, key) =>
    splitList(v).map((entry) => {
      const [host = '', endpoint = `https://${host}`] = entry.split('=', 2);
      if (!/^[a-z0-9]+(?:[.-][a-z0-9]+)*$/.test(host) || !host.includes('.'))
        refuse(key, `"${host}" cannot stand in an image's name; write a host such as ghcr.io`);
      if (!/^https?:\/\//.test(endpoint) || !URL.canParse(endpoint)) refuse(key, `"${endpoint}" is not the URL of a registry`);
      return { host, endpoint: trimSlashes(endpoint) };
    }),
  show: (found) => joined(found.map(({ host, endpoint }) => (endpoint === `https://${host}` ? host : `${host}=${endpoint}`))),
};
