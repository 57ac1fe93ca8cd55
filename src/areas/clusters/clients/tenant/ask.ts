import type { ApiResponse, Ask } from '../../../../drivers/driver.ts';
import { append } from '../../../../kernel/steps.ts';

/** A text field of a tenant's object, which may hold any type; '' for anything but text. */
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** The cluster's API refused or failed a call that should work. */
export class TenantApiError extends Error {
  readonly status: number;
  /** The API's own message. */
  readonly apiMessage: string;

  constructor(method: string, path: string, { status, body }: ApiResponse) {
    super(`${method} ${path.split('?', 1)[0]} was answered ${status}: ${textOf(body?.message).slice(0, 300)}`);
    this.name = 'TenantApiError';
    this.status = status;
    this.apiMessage = textOf(body?.message).slice(0, 300);
  }
}

/** The answer's body; `allowed` statuses beside 2xx come back as undefined. */
export async function askFor(ask: Ask, method: string, path: string, body?: unknown, allowed: readonly number[] = []) {
  const answered = await ask(method, path, body);
  if (answered.status >= 200 && answered.status < 300) return answered.body;
  if (allowed.includes(answered.status)) return undefined;
  throw new TenantApiError(method, path, answered);
}

/** Small pages, so that parsing one does not block the event loop for long. */
const pageSize = 100;
/** Limits for one whole collection. A cluster's administrators may serve any path themselves, with false or slow responses. */
const collectionLimits = { pages: 500, bytes: 32 * 2 ** 20, timeoutMs: 30_000 };

const implausible = (path: string, message: string) => new TenantApiError('GET', path, { status: 200, body: { message } });

/** Every object of a collection, page by page; the path may have a selector. */
// biome-ignore lint/suspicious/noExplicitAny: Kubernetes' objects, of many shapes
export async function listAll(ask: Ask, path: string): Promise<any[]> {
  // biome-ignore lint/suspicious/noExplicitAny: as above
  const found: any[] = [];
  const deadline = performance.now() + collectionLimits.timeoutMs;
  let continueToken = '';
  let bytesLeft = collectionLimits.bytes;
  for (let page = 0; page < collectionLimits.pages; page++) {
    const pagePath = `${path}${path.includes('?') ? '&' : '?'}limit=${pageSize}${continueToken ? `&continue=${encodeURIComponent(continueToken)}` : ''}`;
    const answered = await ask('GET', pagePath);
    if (answered.status !== 200) throw new TenantApiError('GET', path, answered);
    bytesLeft -= answered.bytes ?? 0;
    const items = answered.body?.items ?? [];
    if (!Array.isArray(items) || items.length > pageSize) throw implausible(path, 'not a page of objects');
    if (bytesLeft < 0) throw implausible(path, `more than ${collectionLimits.bytes} bytes`);
    append(found, items);
    continueToken = textOf(answered.body?.metadata?.continue);
    if (!continueToken) return found;
    if (performance.now() > deadline) throw implausible(path, `more than could be read within ${collectionLimits.timeoutMs / 1000} s`);
  }
  throw implausible(path, `more than ${collectionLimits.pages * pageSize} objects`);
}

const maxAttempts = 20;

/** Reads an object, changes it and writes it back; repeats on a conflicting write. `change` returns undefined to leave it as it is;
 *  `part` is the subresource that is written. */
// biome-ignore lint/suspicious/noExplicitAny: as above
export async function changeObject(ask: Ask, path: string, change: (object: any) => any, part?: 'status'): Promise<boolean> {
  const deadline = performance.now() + collectionLimits.timeoutMs;
  for (let attempt = 0; attempt < maxAttempts && performance.now() <= deadline; attempt++) {
    const found = await askFor(ask, 'GET', path, undefined, [404]);
    if (found === undefined) return false;
    const changed = change(found);
    if (changed === undefined) return true;
    const answered = await ask('PUT', part ? `${path}/${part}` : path, changed);
    if (answered.status === 409) continue;
    if (answered.status === 404) return false;
    if (answered.status >= 300) throw new TenantApiError('PUT', path, answered);
    return true;
  }
  throw new Error(`${path} was changed by others each time that it was to be written`);
}
