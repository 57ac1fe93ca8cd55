import type { IncomingHttpHeaders } from 'node:http';

/** A request that may grow the store. */
export interface WriteEstimate {
  /** The most that it may add. */
  bytes: number;
  /** `heartbeat`: a lease or node status, by which a node or an election's leader shows that it is alive. */
  kind: 'new' | 'change' | 'heartbeat';
}

/** The largest body that an apiserver accepts, and so the largest object. */
const maxBodyBytes = 3 * 2 ** 20;
/** What an apiserver adds to an object: defaults and managed fields. */
const apiserverOverheadBytes = 8 * 2 ** 10;
/** A lease has some hundred bytes; a node's status lists up to 50 images. */
const maxHeartbeatBytes = { lease: 4 * 2 ** 10, status: 64 * 2 ** 10 };
const leasePath = /^\/apis\/coordination\.k8s\.io\/v1\/namespaces\/[^/]+\/leases\/[^/]+$/;
const statusPath = /^\/api\/v1\/nodes\/[^/]+\/status$/;

/** POSTs that store nothing, matched by their whole path, so that no suffix or custom kind can pass as one. */
const reviewPath =
  /^\/(apis\/auth(entication|orization)\.k8s\.io\/v1\/(namespaces\/[^/]+\/)?[a-z]+reviews|api\/v1\/namespaces\/[^/]+\/(pods|serviceaccounts)\/[^/]+\/(token|eviction|binding|exec|attach|portforward))$/;

/** What a pod, a Service or a node is asked through the apiserver, which stores none of it. */
const proxyPath = /^\/api\/v1\/(namespaces\/[^/]+\/(pods|services)|nodes)\/[^/]+\/proxy(\/|$)/;

/** Undefined: the request does not grow the store. An object counts twice, because its next change stores the old value too. */
export function estimateWrite(method: string, url: string, headers: IncomingHttpHeaders): WriteEstimate | undefined {
  if (!['POST', 'PUT', 'PATCH'].includes(method)) return undefined;
  const path = url.split('?', 1)[0]!;
  if (proxyPath.test(path) || (method === 'POST' && reviewPath.test(path))) return undefined;
  // An apply patch may create the object and holds all of it. For other patches the size of the object is unknown.
  const isApplied = method === 'PATCH' && /^\s*application\/apply-patch/i.test(headers['content-type'] ?? '');
  const contentLength = headers['content-length'] ?? '';
  const isKnown = (method !== 'PATCH' || isApplied) && /^\d{1,9}$/.test(contentLength);
  const length = isKnown ? Math.min(Number(contentLength), maxBodyBytes) : maxBodyBytes;
  const bytes = 2 * (length + apiserverOverheadBytes);
  const isNew = method === 'POST' || isApplied;
  return { bytes, kind: isNew ? 'new' : isHeartbeat(path, contentLength) ? 'heartbeat' : 'change' };
}

/** By its whole path and its Content-Length; without one it is not a heartbeat. */
function isHeartbeat(path: string, contentLength: string): boolean {
  const longest = leasePath.test(path) ? maxHeartbeatBytes.lease : statusPath.test(path) ? maxHeartbeatBytes.status : 0;
  return /^\d{1,9}$/.test(contentLength) && Number(contentLength) <= longest;
}
