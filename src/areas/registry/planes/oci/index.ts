/*
 * The OCI data plane, /v2.
 *
 * Actors. Clients (docker, containerd, skopeo, …) with a bearer token, a key or Basic. Handlers live in manifests.ts, blobs.ts, uploads.ts
 * and lists.ts; they parse the protocol and call engine/. errors.ts maps every error to the codes of the specification.
 *
 * Flow of a request: parse the route (a name may contain any word, so from the end) → authenticate → memory-answers.ts if the answer is in
 * memory → take a turn on the event loop (a busy tenant is delayed) → authenticate again if it was delayed → handler. Lists also take a
 * request slot of their organization.
 *
 * A pull is sent by send.ts with two buffers. A push is read by receive.ts chunk by chunk; write-leases.ts in engine/push lets one process
 * write to an upload. access-watch.ts ends a transfer whose credential is revoked, and every transaction checks the right again.
 *
 * Crash. This folder keeps no durable state: memory caches are refilled, running hashes are replaced by reading the content back, and
 * clients continue an upload at the offset that GET reports.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { LRUCache } from 'lru-cache';
import { memoizeNode } from '../../../../kernel/data/node.ts';
import { runFor } from '../../../../kernel/fairness/index.ts';
import { markKnown } from '../../../../kernel/http/connections.ts';
import { type Plane, setPlaneHeaders } from '../../../../kernel/http/plane.ts';
import { makeContentCache } from '../../engine/content-cache.ts';
import type { Authenticate } from '../../engine/credentials/index.ts';
import type { RegistryMetrics } from '../../engine/metrics.ts';
import { makePullMarks } from '../../engine/pull-marks.ts';
import type { PullThrough } from '../../engine/pull-through/types.ts';
import { retryWhileUnavailable } from '../../engine/push/database-retry.ts';
import { makeHashes } from '../../engine/push/hashes.ts';
import { makeWriteLeases } from '../../engine/push/write-leases.ts';
import type { Engine } from '../../engine/settings.ts';
import type { Access, Action } from '../../rules/access.ts';
import { isName, type Route, routeOf, splitName } from '../../rules/names.ts';
import { deleteBlob, getBlob } from './blobs.ts';
import { challenge } from './challenge.ts';
import { asOciError, OciError, sendError, setApiVersion } from './errors.ts';
import { listCatalog, listReferrers, listTags } from './lists.ts';
import { deleteManifest, getManifest, putManifest } from './manifests.ts';
import { sendFromMemory } from './memory-answers.ts';
import { type Call, type DataPlane, noQuery, scopeOf } from './request.ts';
import { makeBuffers } from './send.ts';
import { appendChunk, cancelUpload, finishUpload, startUpload, uploadStatus } from './uploads.ts';

export interface OciParts extends Engine {
  authenticate: Authenticate;
  pullThrough?: PullThrough | undefined;
  metrics: RegistryMetrics;
}

/** The OCI distribution API: every URL at and below /v2. */
export const ociPlane = (parts: OciParts): Plane => ({
  name: 'oci',
  role: 'registry',
  owns: ({ url = '' }) => url.startsWith('/v2') && (url.length === 3 || url[3] === '/' || url[3] === '?'),
  open: () => {
    const plane = makeDataPlane(parts);
    return (request, response) => {
      try {
        return answerRequest(plane, request, response);
      } catch (error) {
        throw toOciError(error);
      }
    };
  },
  failed: (error) => parts.metrics.refusals.inc({ code: asOciError(error)?.code ?? 'UNKNOWN' }),
  refuse: sendError,
  writesFrameHeaders: true,
});

/** Errors with a known cause become OciErrors; the HTTP server treats all others as unexpected. */
const toOciError = (error: unknown) => asOciError(error) ?? error;

function makeDataPlane({ app, settings, authenticate, pullThrough, metrics }: OciParts): DataPlane {
  const hashes = makeHashes();
  return {
    app,
    settings,
    authenticate,
    pullThrough,
    contentCache: makeContentCache({ app, settings }),
    hashes,
    leases: makeWriteLeases({ app, settings }, hashes),
    metrics,
    buffers: makeBuffers(),
    smallBlobs: new LRUCache({ maxSize: 32 * 1024 * 1024, sizeCalculation: ({ bytes }) => bytes.length + 1_000 }),
    node: memoizeNode(app),
    markPulled: makePullMarks(app),
  };
}

/** Lists are the most expensive queries. While they hold a request slot they wait neither for a body nor for an upstream. */
const listRoutes: ReadonlySet<Route['kind']> = new Set(['tags', 'referrers', 'catalog']);

/** A request as parsed from its first line. */
interface ParsedRequest {
  plane: DataPlane;
  request: IncomingMessage;
  response: ServerResponse;
  method: string;
  query: URLSearchParams;
  route: Route | undefined;
  /** The upstream host, when a client uses the registry as a mirror. */
  namespace?: string;
}

function parseRequest(plane: DataPlane, request: IncomingMessage, response: ServerResponse): ParsedRequest {
  const { url = '', method = 'GET' } = request;
  const mark = url.indexOf('?');
  const query = mark < 0 ? noQuery : new URLSearchParams(url.slice(mark + 1));
  const route = routeOf(mark < 0 ? url : url.slice(0, mark));
  const parsed = { plane, request, response, method, query, route };
  return query === noQuery ? parsed : { ...parsed, ...mirrored(plane, route, method, query) };
}

type Found = ReturnType<Authenticate>;
type Turn = Promise<void> | undefined;

const contextOf = ({ org }: Access, { kind }: Route) => ({ org, operation: `oci ${kind}` });

function answerRequest(plane: DataPlane, request: IncomingMessage, response: ServerResponse): void | Promise<void> {
  const parsed = parseRequest(plane, request, response);
  const { route, method, query } = parsed;
  // A push in progress waits for an unavailable or busy database; other clients may repeat their request.
  const found =
    route && isPush(route, method) ? retryWhileUnavailable(async () => plane.authenticate(request)) : plane.authenticate(request);
  if (!route || !found || found instanceof Promise) return answerAsync(parsed, found);
  markKnown(request);
  const rest = plane.app.watch.takeTurn(contextOf(found, route));
  if (!rest && sendFromMemory({ plane, request, response, method, query, access: found }, route)) return;
  return answerAsync(parsed, found, { rest });
}

/** `turn`: the throttle delay, if the caller has already taken its turn. */
async function answerAsync(parsed: ParsedRequest, found: Found, turn?: { rest: Turn }): Promise<void> {
  const { plane, request, response, method, query, route, namespace } = parsed;
  setPlaneHeaders(request, response);
  setApiVersion(response);
  if (namespace) response.setHeader('OCI-Namespace', namespace);
  try {
    let access = found instanceof Promise ? await found : found;
    if (!access) throw challenge(plane.app, route && wantedScope(route, method, query));
    markKnown(request);
    if (!route) throw new OciError('NAME_UNKNOWN', 'no such path; a registry has manifests, blobs, tags and referrers below /v2/<name>/');
    const { requests, watch } = plane.app;
    const context = contextOf(access, route);
    const { rest } = turn ?? { rest: watch.takeTurn(context) };
    if (rest) {
      await rest;
      access = await plane.authenticate(request); // the credential may have been revoked meanwhile
      if (!access) throw challenge(plane.app, wantedScope(route, method, query));
    }
    const call = { plane, request, response, method, query, access };
    const answer = () => handle(call, route);
    const answerFor = () => runFor(context, answer, watch);
    await (listRoutes.has(route.kind) ? requests.run(`${access.org} lists`, answerFor) : answerFor());
  } catch (error) {
    throw toOciError(error);
  }
}

const isPush = ({ kind }: Route, method: string) => kind === 'upload' || kind === 'uploads' || (kind === 'manifest' && method === 'PUT');

/** containerd asks a mirror for `<slug>/library/alpine` and names the upstream in `ns`. The mirror confirms it in OCI-Namespace. */
function mirrored(plane: DataPlane, route: Route | undefined, method: string, query: URLSearchParams) {
  const host = query.get('ns');
  if (!host || !route || !('name' in route) || (method !== 'GET' && method !== 'HEAD')) return undefined;
  const parts = splitName(route.name);
  const name = parts && (parts.repository.startsWith(`${host}/`) ? parts.repository : `${host}/${parts.repository}`);
  if (!name || plane.pullThrough?.hostOf(name) !== host) return undefined;
  return { namespace: host, route: { ...route, name: `${parts.slug}/${name}` } };
}

function handle(call: Call, route: Route): Promise<void> {
  const { method } = call;
  const reads = method === 'GET' || method === 'HEAD';
  switch (route.kind) {
    case 'base':
      return reads ? base(call) : unsupported(call);
    case 'catalog':
      return reads ? listCatalog(call) : unsupported(call);
    case 'tags':
      return reads ? listTags(call, route.name) : unsupported(call);
    case 'referrers':
      return reads ? listReferrers(call, route.name, route.digest) : unsupported(call);
    case 'manifest':
      if (reads) return getManifest(call, route.name, route.reference);
      if (method === 'PUT') return putManifest(call, route.name, route.reference);
      return method === 'DELETE' ? deleteManifest(call, route.name, route.reference) : unsupported(call);
    case 'blob':
      if (reads) return getBlob(call, route.name, route.digest);
      return method === 'DELETE' ? deleteBlob(call, route.name, route.digest) : unsupported(call);
    case 'uploads':
      return method === 'POST' ? startUpload(call, route.name) : unsupported(call);
    case 'upload':
      if (method === 'PATCH') return appendChunk(call, route.name, route.id);
      if (method === 'PUT') return finishUpload(call, route.name, route.id);
      if (method === 'GET') return uploadStatus(call, route.name, route.id);
      return method === 'DELETE' ? cancelUpload(call, route.name, route.id) : unsupported(call);
  }
}

async function base({ response }: Call) {
  response.setHeader('Content-Type', 'application/json');
  response.setHeader('Content-Length', 2);
  response.end('{}');
}

async function unsupported({ method }: Call): Promise<never> {
  throw new OciError('UNSUPPORTED', `${method} is not supported here`);
}

/** The scope for a challenge. A mount also pulls from its source. An invalid name gets no scope. */
function wantedScope(route: Route, method: string, query: URLSearchParams): string | undefined {
  if (route.kind === 'catalog') return 'registry:catalog:*';
  if (route.kind === 'base' || !isName(route.name)) return undefined;
  const reads = method === 'GET' || method === 'HEAD';
  const actions: Action[] =
    route.kind === 'upload' || route.kind === 'uploads'
      ? ['pull', 'push']
      : reads
        ? ['pull']
        : method === 'DELETE'
          ? ['delete']
          : ['pull', 'push'];
  const own = scopeOf(route.name, actions);
  const from = query.get('from');
  return from && isName(from) ? `${own} ${scopeOf(from, ['pull'])}` : own;
}
