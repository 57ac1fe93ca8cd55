import type { IncomingHttpHeaders } from 'node:http';

/** A request after which the store may hold more than before. */
export interface Write {
  /** What it may keep, at most. */
  bytes: number;
  /** It makes something new; or changes what is there; or changes little of it, as a node does that says that it lives. */
  kind: 'new' | 'change' | 'small';
}

/** What an apiserver takes as a body, and so the largest object. */
const largest = 3 * 2 ** 20;
/** What an apiserver adds to an object: defaults, who manages which field. */
const added = 8 * 2 ** 10;
const smallest = 4 * 2 ** 10;

/** Questions that are put by POST, by their whole path: whatever a caller writes behind it, or names a kind of its own, is none. */
const question =
  /^\/(apis\/auth(entication|orization)\.k8s\.io\/v1\/(namespaces\/[^/]+\/)?[a-z]+reviews|api\/v1\/namespaces\/[^/]+\/(pods|serviceaccounts)\/[^/]+\/(token|eviction|binding|exec|attach|portforward))$/;

/** Undefined: nothing that it asks for is kept, or less is kept than before. Each object is kept twice: with the next change as what was before. */
export function readWrite(method: string, url: string, headers: IncomingHttpHeaders): Write | undefined {
  if (!['POST', 'PUT', 'PATCH'].includes(method)) return undefined;
  if (method === 'POST' && question.test(url.split('?', 1)[0]!)) return undefined;
  // An applied patch makes what it does not find, and holds all of it; of other patches nobody knows how large what they change is.
  const isApplied = method === 'PATCH' && /^\s*application\/apply-patch/i.test(headers['content-type'] ?? '');
  const said = headers['content-length'] ?? '';
  const isKnown = (method !== 'PATCH' || isApplied) && /^\d{1,9}$/.test(said);
  const length = isKnown ? Math.min(Number(said), largest) : largest;
  const bytes = 2 * (length + added);
  const isNew = method === 'POST' || isApplied;
  return { bytes, kind: isNew ? 'new' : method === 'PUT' && length <= smallest ? 'small' : 'change' };
}
