import { createHash } from 'node:crypto';

// What an audit row says of a change. A body is not kept word for word: a long list or text is kept by its count and its hash, which tell
// whether two changes were the same. Beyond its budget an organization's details are kept by their size and hash alone.

export type Detail = Record<string, unknown>;

const limits = { entries: 20, characters: 500, bytes: 4_096 };

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

/** PostgreSQL's jsonb holds neither NUL nor half of a surrogate pair, which a cut leaves: an act would be refused for its record. */
const storable = (text: string): string => text.replaceAll('\0', '\ufffd').toWellFormed();

/** Of all values that JSON has. */
function shorten(value: unknown): unknown {
  if (typeof value === 'string')
    return value.length > limits.characters
      ? { characters: value.length, sha256: hashOf(value), begins: storable(value.slice(0, 100)) }
      : storable(value);
  if (Array.isArray(value))
    return value.length > limits.entries ? { entries: value.length, sha256: hashOf(JSON.stringify(value)) } : value.map(shorten);
  if (typeof value !== 'object' || value === null || 'toJSON' in value) return value;
  return shortenAll(value as Detail);
}

function shortenAll(detail: Detail): unknown {
  const fields = Object.entries(detail);
  if (fields.length > 5 * limits.entries) return { fields: fields.length, sha256: hashOf(JSON.stringify(detail)) };
  return Object.fromEntries(fields.map(([name, value]) => [name, shorten(value)]));
}

/** A detail without its long lists and texts; where it is still long, its largest fields are kept by their hash, too. */
export function shortDetail(detail: Detail): Detail {
  const short = shortenAll(detail) as Detail;
  const sizes = Object.entries(short).map(([name, value]) => ({ name, text: JSON.stringify(value) ?? '' }));
  let bytes = sizes.reduce((sum, { text }) => sum + text.length, 0);
  for (const { name, text } of sizes.sort((a, b) => b.text.length - a.text.length)) {
    if (bytes <= limits.bytes) break;
    short[name] = { bytes: text.length, sha256: hashOf(text) };
    bytes -= text.length;
  }
  return short;
}

export const detailBudget = { bytesPerDay: 16 * 2 ** 20, organizations: 10_000 };
const dayMs = 86_400_000;

/** Bytes of details that organizations may still write: a token bucket each, in this process. A row itself is always written. */
export class DetailBudget {
  readonly #left = new Map<string, { bytes: number; at: number }>();
  readonly #perDay: number;
  readonly #now: () => number;

  constructor(perDay: number = detailBudget.bytesPerDay, now: () => number = () => performance.now()) {
    this.#perDay = perDay;
    this.#now = now;
  }

  /** What is kept of a detail. */
  spend(org: string, detail: Detail): Detail {
    const short = shortDetail(detail);
    const text = JSON.stringify(short);
    const now = this.#now();
    const before = this.#left.get(org) ?? { bytes: this.#perDay, at: now };
    const left = Math.min(this.#perDay, before.bytes + ((now - before.at) / dayMs) * this.#perDay);
    const isWithin = text.length <= left;
    // The least recently used entry is dropped first: its budget is full again, or soon would be.
    this.#left.delete(org);
    this.#left.set(org, { bytes: isWithin ? left - text.length : left, at: now });
    if (this.#left.size > detailBudget.organizations) this.#left.delete(this.#left.keys().next().value!);
    return isWithin || text.length <= 150 ? short : { bytes: text.length, sha256: hashOf(text) };
  }
}
