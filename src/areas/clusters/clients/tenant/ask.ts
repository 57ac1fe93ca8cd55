/** An answer of a cluster's API. */
export interface Answered {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: Kubernetes' objects, of many shapes
  body: any;
  /** How long it was, where it was read from a connection. */
  bytes?: number;
}

/** A cluster's API as its administrator, whichever driver runs it. */
export type Ask = (method: string, path: string, body?: unknown) => Promise<Answered>;

/** What ought to be text, whatever a cluster's people have put there. */
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** The cluster's API refused or failed what ought to work. */
export class TenantTrouble extends Error {
  readonly status: number;
  /** What the API said. */
  readonly said: string;

  constructor(method: string, path: string, { status, body }: Answered) {
    super(`${method} ${path.split('?', 1)[0]} was answered ${status}: ${textOf(body?.message).slice(0, 300)}`);
    this.name = 'TenantTrouble';
    this.status = status;
    this.said = textOf(body?.message).slice(0, 300);
  }
}

/** The answer's body; `allowed` statuses beside 2xx come back as undefined. */
export async function askFor(ask: Ask, method: string, path: string, body?: unknown, allowed: readonly number[] = []) {
  const answered = await ask(method, path, body);
  if (answered.status >= 200 && answered.status < 300) return answered.body;
  if (allowed.includes(answered.status)) return undefined;
  throw new TenantTrouble(method, path, answered);
}

/** Small ones: nobody else waits while one is read. */
const sliceSize = 100;
/** What a collection may take together. A cluster's administrators may have put a server of their own behind any path: it may lie and dawdle. */
const most = { slices: 500, bytes: 32 * 2 ** 20, ms: 30_000 };

const trouble = (path: string, message: string) => new TenantTrouble('GET', path, { status: 200, body: { message } });

/** Every object of a collection, in slices. */
// biome-ignore lint/suspicious/noExplicitAny: Kubernetes' objects, of many shapes
export async function listAll(ask: Ask, path: string): Promise<any[]> {
  // biome-ignore lint/suspicious/noExplicitAny: as above
  const found: any[] = [];
  const until = performance.now() + most.ms;
  let next = '';
  let left = most.bytes;
  for (let slice = 0; slice < most.slices; slice++) {
    const question = `${path}?limit=${sliceSize}${next ? `&continue=${encodeURIComponent(next)}` : ''}`;
    const answered = await ask('GET', question);
    if (answered.status !== 200) throw new TenantTrouble('GET', path, answered);
    left -= answered.bytes ?? 0;
    const items = answered.body?.items ?? [];
    if (!Array.isArray(items) || items.length > sliceSize) throw trouble(path, 'no slice of objects');
    if (left < 0) throw trouble(path, `more than ${most.bytes} bytes`);
    found.push(...items);
    next = textOf(answered.body?.metadata?.continue);
    if (!next) return found;
    if (performance.now() > until) throw trouble(path, `more than could be read within ${most.ms / 1000} s`);
  }
  throw trouble(path, `more than ${most.slices * sliceSize} objects`);
}

const mostTries = 20;

/** Reads an object, changes it and writes it back, again if somebody else was faster. `change` returns undefined to leave it is;
 *  `part` is the subresource that is written. */
// biome-ignore lint/suspicious/noExplicitAny: as above
export async function changeObject(ask: Ask, path: string, change: (object: any) => any, part?: 'status'): Promise<boolean> {
  const until = performance.now() + most.ms;
  for (let tries = 0; tries < mostTries && performance.now() <= until; tries++) {
    const found = await askFor(ask, 'GET', path, undefined, [404]);
    if (found === undefined) return false;
    const changed = change(found);
    if (changed === undefined) return true;
    const answered = await ask('PUT', part ? `${path}/${part}` : path, changed);
    if (answered.status === 409) continue;
    if (answered.status === 404) return false;
    if (answered.status >= 300) throw new TenantTrouble('PUT', path, answered);
    return true;
  }
  throw new Error(`${path} was changed by others each time that it was to be written`);
}
