import { gzipSync } from 'node:zlib';
import fc from 'fast-check';

/** A request before it is bytes. Path parameters stand as they will on the wire. */
export interface Draft {
  params: Record<string, string>;
  query: string;
  headers: Record<string, string>;
  body: unknown;
  /** Bytes to send instead of the body as JSON. */
  bytes?: Buffer;
}

/** One thing done to a good request, chosen by numbers so that fast-check can print and shrink it. */
export interface Mutation {
  what: keyof typeof mutate;
  which: number;
  where: number;
}

export const mutations: fc.Arbitrary<Mutation> = fc.record({
  what: fc.constantFrom(...(['field', 'field', 'missing', 'extra', 'bytes', 'type', 'query', 'param', 'header'] as const)),
  which: fc.nat({ max: 1000 }),
  where: fc.nat({ max: 1000 }),
});

const deep = (levels: number) => JSON.parse('['.repeat(levels) + ']'.repeat(levels)) as unknown;
const text = 'x'.repeat(100_000);

/** Values that belong nowhere, or almost. */
const junk: unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  2 ** 53,
  1e308,
  '',
  ' ',
  'x',
  text,
  '\0',
  'a\0b',
  '\ud800',
  'a\udc00b',
  '\u202Eright to left',
  'e\u0301'.repeat(60),
  '👩‍👩‍👧‍👦'.repeat(20),
  '\uFFFF\uFEFF',
  "'; drop table identity.token; --",
  '%00%ff',
  '../../etc/passwd',
  'not-a-date',
  '2026-02-30T00:00:00Z',
  'x@',
  [],
  [[]],
  [null],
  {},
  { '': '' },
  deep(31),
  deep(40),
  Array.from({ length: 2000 }, (_, i) => i),
  Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`k${i}`, i])),
];

const bytes = (json: string): Buffer[] => [
  Buffer.from(json.slice(0, -1)),
  Buffer.from(`${json}}`),
  Buffer.from(`\uFEFF${json}`),
  Buffer.from(''),
  Buffer.from(' '),
  Buffer.from('null'),
  Buffer.from('NaN'),
  Buffer.from('{"name":"a","name":"b"}'),
  Buffer.from('{"__proto__":{"name":"x"},"name":"y"}'),
  Buffer.from('{"constructor":{"prototype":{"x":1}}}'),
  Buffer.from([0xff, 0xfe, 0x7b, 0x7d]),
  Buffer.concat([Buffer.from('{"name":"'), Buffer.from([0xc3, 0x28, 0xed, 0xa0, 0x80]), Buffer.from('"}')]),
  Buffer.from(json, 'utf16le'),
  Buffer.from('['.repeat(20_000)),
  Buffer.from(`${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}`),
  Buffer.from('1'.repeat(5_000)),
  Buffer.alloc(1_048_577, 0x20),
  gzipSync(json),
];

const types = [
  '',
  'text/plain',
  'application/json; charset=utf-8',
  'APPLICATION/JSON',
  'application/problem+json',
  'application/jsonx',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'application',
  '/',
  ';;;',
  'application/json; charset="',
  'application/json, text/plain',
  `application/${'x'.repeat(2000)}`,
  '*/*',
  'text/\u00e4',
];

const queries = [
  'limit=0',
  'limit=-1',
  'limit=1001',
  'limit=1e3',
  'limit=1.0',
  'limit=0x10',
  'limit=%201',
  'limit=',
  'limit',
  'limit=99999999999999999999',
  'limit=1&limit=2',
  'limit[]=1',
  'cursor=',
  'cursor=%00',
  'cursor=abc',
  'cursor=dG9rXw',
  'cursor=%F0%9F%98%80',
  `cursor=${'A'.repeat(501)}`,
  `cursor=${Buffer.from("x' or '1'='1").toString('base64url')}`,
  `cursor=${Buffer.from('\0').toString('base64url')}`,
  'cursor=a&cursor=b',
  'subject=%00',
  'subject=%ff',
  'subject=a&subject=b',
  'unknown=1',
  '__proto__=1',
  'constructor=1',
  'a[b]=c',
  '%',
  '%zz',
  '%ff=%ff',
  '&&&===',
  '?',
  `q=${'x'.repeat(4000)}`,
];

const params = [
  '%00',
  'a%00b',
  '%ff',
  '%',
  '%zz',
  '%2e%2e%2f',
  '..',
  '.',
  '%2F',
  'a%2Fb',
  'a/b',
  '%F0%9F%98%80',
  '%ED%A0%80',
  '%E2%80%AE',
  "'%20or%201=1--",
  '%7Bid%7D',
  '*',
  ':id',
  '__proto__',
  'a'.repeat(511),
  'a'.repeat(600),
  'a'.repeat(8000),
  '-1',
  '0',
  'null',
  'undefined',
  '%20',
  '%0d%0aX-Evil:%201',
];

const headers: [string, string][] = [
  ['idempotency-key', 'a b'],
  ['idempotency-key', 'x'.repeat(256)],
  ['idempotency-key', '\u00fc'],
  ['idempotency-key', 'same'],
  ['x-organization', 'nowhere'],
  ['x-organization', '__proto__'],
  ['x-organization', ''],
  ['authorization', ''],
  ['authorization', 'Bearer'],
  ['authorization', 'Bearer '],
  ['authorization', 'Basic cm9vdDpyb290'],
  ['authorization', 'Bearer qd_pat_000000000000000000000000000000000000'],
  ['authorization', `Bearer ${'x'.repeat(5000)}`],
  ['authorization', 'Bearer \u00fc'],
  ['accept', 'text/html'],
  ['accept-encoding', 'br;q=x'],
  ['content-encoding', 'gzip'],
  ['content-encoding', 'nonsense'],
  ['x-request-id', "' or 1=1"],
  ['x-forwarded-for', 'garbage'],
  ['x-forwarded-proto', 'gopher'],
  ['cookie', 'a=b; ='],
  ['expect', '100-continue'],
  ['range', 'bytes=0-1'],
  ['if-none-match', '*'],
  ['x-http-method-override', 'DELETE'],
];

const pick = <T>(list: readonly T[], which: number): T => list[which % list.length]!;

/** Every place in a value: itself, its fields, its entries. */
function places(value: unknown, path: string[] = []): string[][] {
  const inside = value !== null && typeof value === 'object' ? Object.entries(value).flatMap(([k, v]) => places(v, [...path, k])) : [];
  return [path, ...inside];
}

function changed(value: unknown, [step, ...rest]: string[], change: (holder: Record<string, unknown>, key: string) => void): unknown {
  const copy = structuredClone(value);
  let holder = copy as Record<string, unknown>;
  let key = step!;
  for (const next of rest) {
    holder = holder[key] as Record<string, unknown>;
    key = next;
  }
  change(holder, key);
  return copy;
}

const mutate = {
  field: (d: Draft, which: number, where: number) => {
    const place = pick(places(d.body), where);
    d.body = place.length ? changed(d.body, place, (holder, key) => (holder[key] = pick(junk, which))) : pick(junk, which);
  },
  missing: (d: Draft, _which: number, where: number) => {
    const inner = places(d.body).filter((p) => p.length);
    if (inner.length) d.body = changed(d.body, pick(inner, where), (holder, key) => delete holder[key]);
  },
  extra: (d: Draft, which: number, where: number) => {
    const name = pick(['extra', '', 'toString', 'Name', 'id', 'org_id', 'a\0b', '\ud800'], where);
    if (d.body !== null && typeof d.body === 'object' && !Array.isArray(d.body)) d.body = { ...d.body, [name]: pick(junk, which) };
  },
  bytes: (d: Draft, which: number) => {
    d.bytes = pick(bytes(JSON.stringify(d.body ?? {})), which);
  },
  type: (d: Draft, which: number) => {
    d.headers['content-type'] = pick(types, which);
  },
  query: (d: Draft, which: number) => {
    d.query = [d.query, pick(queries, which)].filter(Boolean).join('&');
  },
  param: (d: Draft, which: number, where: number) => {
    const names = Object.keys(d.params);
    if (names.length) d.params[pick(names, where)] = pick(params, which);
  },
  header: (d: Draft, which: number) => {
    const [name, value] = pick(headers, which);
    d.headers[name] = value;
  },
};

export const applied = (draft: Draft, list: readonly Mutation[]): Draft => {
  for (const { what, which, where } of list) mutate[what](draft, which, where);
  return draft;
};
