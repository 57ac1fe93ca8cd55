import type { Op } from '../../contract/common.ts';

// A field that an operation takes and nothing stores looks right in every answer that repeats the request. So after each write the thing is
// read again, and every field of the body that the reading tells under the same name must have the same value.

type Fields = Record<string, unknown>;

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);

/** An answer, what it wraps, and the items of its lists: `{ sendKey: { id } }`, `{ tokens: [{ id }] }`. */
function thingsIn(answer: unknown): Fields[] {
  if (!isFields(answer)) return [];
  return [
    answer,
    ...Object.values(answer)
      .flatMap((value) => (Array.isArray(value) ? value : [value]))
      .filter(isFields),
  ];
}

const withoutCase = (text: string) => text.normalize('NFC').trim().toLowerCase();
const isInstant = (text: string) => /^\d{4}-\d\d-\d\dT/.test(text);

/** Whether a stored value says what was sent. Names are trimmed, addresses lowered, objects completed by defaults. */
function says(stored: unknown, sent: unknown): boolean {
  if (sent === null || sent === undefined) return true;
  if (typeof sent === 'string' && typeof stored === 'string') {
    if (isInstant(sent) && isInstant(stored)) return Date.parse(sent) === Date.parse(stored);
    return withoutCase(sent) === withoutCase(stored);
  }
  if (Array.isArray(sent)) return Array.isArray(stored) && sent.every((one) => stored.some((other) => says(other, one)));
  if (isFields(sent))
    return (
      isFields(stored) && Object.entries(sent).every(([name, value]) => !(name in stored) || found.has(name) || says(stored[name], value))
    );
  return stored === sent;
}

/** Fields whose stored value is another by design, each with the reason. */
const changed: Record<string, string> = {
  'setProvider.accountSid': 'deleteProvider is asked at the same time',
  'setProvider.fromNumber': 'deleteProvider is asked at the same time',
};

/** Names that we find for an id; what a request says there counts for nothing. */
const found = new Set(['label']);

export interface Reading {
  /** The operation that reads what this one writes. */
  spec: Op;
  /** Its path, if the written thing can be named. */
  path(params: Record<string, string>, written: unknown): string | undefined;
}

const fillIn = (path: string, params: Record<string, string>) =>
  path.includes('{') && [...path.matchAll(/\{(\w+)\}/g)].some(([, name]) => params[name!] === undefined)
    ? undefined
    : path.replaceAll(/\{(\w+)\}/g, (_, name: string) => params[name]!);

/** GETs of the same path, of the thing in its collection, and of the collection that the thing is in. */
export function readingsOf(write: Op, operations: readonly Op[]): Reading[] {
  const parent = write.path.replace(/\/\{\w+\}$/, '');
  return operations
    .filter(({ method, foreign }) => method === 'GET' && !foreign)
    .flatMap((spec): Reading[] => {
      if (spec.path === write.path || spec.path === parent) return [{ spec, path: (params) => fillIn(spec.path, params) }];
      const [, last] = new RegExp(`^${write.path.replaceAll(/[{}]/g, '\\$&')}/\\{(\\w+)\\}$`).exec(spec.path) ?? [];
      if (!last) return [];
      const nameOf = (written: unknown) =>
        thingsIn(written)
          .map((thing) => thing[last] ?? thing.id ?? thing.slug)
          .find((name) => name !== undefined);
      return [
        {
          spec,
          path: (params, written) => {
            const name = nameOf(written);
            return typeof name === 'string' ? fillIn(spec.path, { ...params, [last]: encodeURIComponent(name) }) : undefined;
          },
        },
      ];
    });
}

/** Sentences about fields that a reading tells otherwise than the body of the write. */
export function differences(write: Op, body: unknown, written: unknown, read: unknown): string[] {
  if (!isFields(body)) return [];
  const ids = new Set(thingsIn(written).flatMap(({ id }) => (typeof id === 'string' ? [id] : [])));
  const all = thingsIn(read);
  const same = all.filter(({ id }) => typeof id === 'string' && ids.has(id));
  // Of a list, only the item that was written; else the answer and what it wraps.
  const things = same.length > 0 ? same : all.some(({ id }) => id !== undefined) && ids.size > 0 ? [] : all;
  return Object.entries(body).flatMap(([name, sent]) => {
    const told = things.filter((thing) => Object.hasOwn(thing, name));
    if (told.length === 0 || changed[`${write.id}.${name}`] || told.some((thing) => says(thing[name], sent))) return [];
    return [
      `${write.id}.${name}: ${JSON.stringify(sent)?.slice(0, 200)} was sent, ${JSON.stringify(told[0]![name])?.slice(0, 200)} is read`,
    ];
  });
}
