import type { IncomingHttpHeaders } from 'node:http';

/** A request after which the store may hold more than before. */
export interface WriteEstimate {
  /** What it may keep, at most. */
  bytes: number;
  /** It makes something new; or changes what is there; or is a heartbeat, by which a node or the leader of an election says that it lives. */
  kind: 'new' | 'change' | 'heartbeat';
}

/** What an apiserver takes as a body, and so the largest object. */
const maxBodyBytes = 3 * 2 ** 20;
/** What an apiserver adds to an object: defaults, who manages which field. */
const apiserverOverheadBytes = 8 * 2 ** 10;
/** The longest body of a heartbeat: a lease has some hundred bytes, a node's status lists up to 50 images. */
const maxHeartbeatBytes = { lease: 4 * 2 ** 10, status: 64 * 2 ** 10 };
const leasePath = /^\/apis\/coordination\.k8s\.io\/v1\/namespaces\/[^/]+\/leases\/[^/]+$/;
const statusPath = /^\/api\/v1\/nodes\/[^/]+\/status$/;

/** Questions that are put by POST, by their whole path: whatever a caller writes behind it, or names a kind of its own, is none. */
const reviewPath =
  /^\/(apis\/auth(entication|orization)\.k8s\.io\/v1\/(namespaces\/[^/]+\/)?[a-z]+reviews|api\/v1\/namespaces\/[^/]+\/(pods|serviceaccounts)\/[^/]+\/(token|eviction|binding|exec|attach|portforward))$/;

/** Undefined: nothing that it asks for is kept, or less is kept than before. Each object is kept twice: with the next change as what was before. */
export function estimateWrite(method: string, url: string, headers: IncomingHttpHeaders): WriteEstimate | undefined {
  if (!['POST', 'PUT', 'PATCH'].includes(method)) return undefined;
  if (method === 'POST' && reviewPath.test(url.split('?', 1)[0]!)) return undefined;
  // An applied patch makes what it does not find, and holds all of it; of other patches nobody knows how large what they change is.
  const isApplied = method === 'PATCH' && /^\s*application\/apply-patch/i.test(headers['content-type'] ?? '');
  const said = headers['content-length'] ?? '';
  const isKnown = (method !== 'PATCH' || isApplied) && /^\d{1,9}$/.test(said);
  const length = isKnown ? Math.min(Number(said), maxBodyBytes) : maxBodyBytes;
  const bytes = 2 * (length + apiserverOverheadBytes);
  const isNew = method === 'POST' || isApplied;
  return { bytes, kind: isNew ? 'new' : isHeartbeat(url.split('?', 1)[0]!, said) ? 'heartbeat' : 'change' };
}

/** By its whole path and its own length; what does not say its length is none. */
function isHeartbeat(path: string, contentLength: string): boolean {
  const longest = leasePath.test(path) ? maxHeartbeatBytes.lease : statusPath.test(path) ? maxHeartbeatBytes.status : 0;
  return /^\d{1,9}$/.test(contentLength) && Number(contentLength) <= longest;
}
