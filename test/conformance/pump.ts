import type { Op } from '../../contract/common.ts';

interface Schema {
  type?: string;
  const?: unknown;
  enum?: unknown[];
  anyOf?: Schema[];
  allOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  format?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  minItems?: number;
}

/** What makes one pattern or another begin again at every character. */
export const pieces = [' ', 'a.', '/', ',', '=', '\t\r', '("', '@-'];

/** Longer than that no header, path or body of most operations can be. */
const longest = 8_000;

export interface Pumped {
  what: string;
  /** At most so many characters. */
  most: number;
  ask(text: string): { method: string; path: string; headers?: Record<string, string>; body?: string };
}

/** A small value that the contract takes; `at` says where another one stands instead. */
function sample(schema: Schema, at: string[] = [], text = ''): unknown {
  const [name, ...rest] = at;
  if (at.length === 0 && text !== '') return text;
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[0];
  const inner = schema.anyOf ?? schema.allOf;
  if (inner) return sample(inner.find((each) => name === undefined || each.properties?.[name]) ?? inner[0]!, at, text);
  if (schema.properties) {
    const names = new Set([...(schema.required ?? []), ...(name === undefined ? [] : [name])]);
    return Object.fromEntries(
      [...names].map((each) => [each, sample(schema.properties![each] ?? {}, each === name ? rest : [], each === name ? text : '')]),
    );
  }
  if (schema.type === 'array')
    return name === '0' ? [sample(schema.items ?? {}, rest, text)] : schema.minItems ? [sample(schema.items ?? {})] : [];
  if (schema.type === 'integer' || schema.type === 'number') return schema.minimum ?? 1;
  if (schema.type === 'boolean') return true;
  if (schema.format === 'date-time') return '2026-11-15T00:00:00Z';
  return 'x'.repeat(Math.max(1, schema.minLength ?? 1));
}

/** Where texts stand in it. */
function textsIn(schema: Schema | undefined, at: string[] = []): { at: string[]; most: number }[] {
  if (!schema || at.length > 6) return [];
  const inside = [...(schema.anyOf ?? []), ...(schema.allOf ?? [])].flatMap((each) => textsIn(each, at));
  const fields = Object.entries(schema.properties ?? {}).flatMap(([name, each]) => textsIn(each, [...at, name]));
  const entries = textsIn(schema.items, [...at, '0']);
  const own = schema.type === 'string' && !schema.enum ? [{ at, most: Math.min(longest, schema.maxLength ?? longest) }] : [];
  return [...own, ...inside, ...fields, ...entries];
}

const fillPath = (path: string, name?: string, text = '') =>
  path.replaceAll(/\{([^{}]+)\}/g, (_, each: string) => encodeURIComponent(each === name ? text : 'x'));

/** Every text of an operation: in its path, its query and its body. */
export function textsOf(op: Op): Pumped[] {
  const { method, path, id } = op;
  const body = op.body as Schema | undefined;
  const query = op.query as Schema | undefined;
  const sent = body ? JSON.stringify(sample(body)) : undefined;
  const json = { 'content-type': 'application/json' };
  const ask = (to: string, content = sent) => ({ method, path: `/api/v1${to}`, ...(content ? { body: content, headers: json } : {}) });
  const inPath = [...path.matchAll(/\{([^{}]+)\}/g)].map(([, name]) => ({
    what: `${id}: ${name} in the path`,
    most: 160, // as many may be escaped to three times as many
    ask: (text: string) => ask(fillPath(path, name, text)),
  }));
  const inQuery = Object.keys(query?.properties ?? {}).map((name) => ({
    what: `${id}: ${name} in the query`,
    most: 4_000,
    ask: (text: string) => ask(`${fillPath(path)}?${new URLSearchParams({ [name]: text })}`),
  }));
  const inBody = textsIn(body).map(({ at, most }) => ({
    what: `${id}: ${at.join('.')}`,
    most,
    ask: (text: string) => ask(fillPath(path), JSON.stringify(sample(body!, at, text))),
  }));
  return [...inPath, ...inQuery, ...inBody];
}

const header = (name: string, path: string): Pumped => ({
  what: `the header ${name} of ${path}`,
  most: longest,
  ask: (text) => ({ method: 'GET', path, headers: { [name]: `x${text.replaceAll(/[\r\n]/g, ' ')}x` } }),
});

/** What is read before anybody knows who asks, and the protocols that the contract does not describe. */
export const doors = (): Pumped[] => [
  ...['authorization', 'accept', 'content-type', 'x-organization', 'x-forwarded-for', 'cookie', 'host', 'if-none-match', 'range'].flatMap(
    (name) => ['/api/v1/me', '/v2/', '/status/x', '/resend/emails', '/agent/v1/assignments'].map((path) => header(name, path)),
  ),
  header('idempotency-key', '/api/v1/tokens'),
  ...['/v2/', '/status/', '/token?service=x&scope=', '/docs/', '/resend/emails/', '/agent/v1/', '/oncall/'].map((path) => ({
    what: `behind ${path}`,
    most: 4_000,
    ask: (text: string) => ({ method: 'GET', path: `${path}${encodeURIComponent(text)}` }),
  })),
];

/** What strangers send to a Kubernetes cluster. Selectors are read as `a=…=`, which made one pattern begin again at every space. */
export const clusterDoors = (): Pumped[] => [
  ...['fieldSelector', 'labelSelector', 'continue', 'resourceVersion'].map((name) => ({
    what: `${name} of a cluster`,
    most: 1_000,
    ask: (text: string) => ({ method: 'GET', path: `/api/v1/nodes?${name}=${encodeURIComponent(`a=${text.slice(0, -1)}=`)}` }),
  })),
  { what: 'the path of a cluster', most: 1_000, ask: (text) => ({ method: 'GET', path: `/api/v1/${encodeURIComponent(text)}` }) },
  ...['authorization', 'accept', 'impersonate-user'].map((name) => header(name, '/api/v1/nodes')),
];

export interface Measured {
  isSlow: boolean;
  /** Milliseconds of CPU at a quarter of the length and at the whole of it. */
  quarter: number;
  whole: number;
}

/** Below this a text is harmless, however it grows: it is the shortest that a neighbour would notice. */
const floorMs = 40;
/** Twice what a time has that grows with the length alone, and half of what one has that grows with its square. */
const ratio = 8;

/** The CPU of this thread that an act takes, at n and at 4n characters. The least of five: what else goes on only adds to it. */
export async function measureGrowth(act: (length: number) => Promise<unknown>, most: number): Promise<Measured | undefined> {
  const cpu = async (length: number) => {
    const before = process.threadCpuUsage();
    await act(length);
    const { user, system } = process.threadCpuUsage(before);
    return (user + system) / 1_000;
  };
  const least = async (length: number) => {
    let found = Number.POSITIVE_INFINITY;
    for (let n = 0; n < 5; n++) found = Math.min(found, await cpu(length));
    return found;
  };
  if ((await cpu(most)) < floorMs) return undefined;
  const whole = await least(most);
  if (whole < floorMs) return undefined;
  const quarter = await least(Math.ceil(most / 4));
  return { isSlow: whole / quarter >= ratio, quarter, whole };
}
