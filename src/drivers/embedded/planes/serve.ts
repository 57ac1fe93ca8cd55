import type { IncomingMessage, ServerResponse } from 'node:http';
import { DatabaseBusy, isAboutData } from '../../../kernel/db/index.ts';
import { Refusal } from '../../../kernel/errors.ts';
import { currentContext, runFor, switchContext, TenantThrottled } from '../../../kernel/fairness/index.ts';
import { guarded } from '../../../kernel/faults/guarded.ts';
import { discardAfterAnswer, holdUntilAnswered, readBody } from '../../../kernel/http/body.ts';
import { discard, hasBody } from '../../../kernel/http/discard.ts';
import { readJsonInSteps } from '../../../kernel/http/json.ts';
import { isTemporary, refuseTemporarily } from '../../../kernel/http/temporary-failure.ts';
import { runYielding } from '../../../kernel/yielding.ts';
import type { UnreadAccount } from '../../driver.ts';
import {
  ApiError,
  badRequest,
  internalError,
  noSuchPath,
  notAcceptable,
  notServed,
  statusOf,
  tooLarge,
  tooMany,
  unavailableError,
  unsupportedType,
} from '../../status.ts';
import type { Call, Reply, Representation } from '../engine/call.ts';
import { identifyCaller } from '../engine/caller.ts';
import { type Cluster, type EmbeddedIdentity, limits } from '../engine/cluster.ts';
import type { RequestInfo } from '../rules/request-info.ts';
import { emptyKindReason } from '../rules/resources.ts';
import { messageNamed } from '../rules/schema/messages.ts';
import { decodeMessage, openEnvelope } from '../rules/schema/protobuf.ts';
import { expectBody } from './body.ts';

// The HTTP layer of the Kubernetes API: authenticates, decodes the body, selects the representation, writes the response.

export interface ServeContext {
  cluster: Cluster;
  /** Resolves once the cluster has its built-in objects. */
  ready: () => Promise<void>;
  dispatch: (call: Call) => Promise<Reply>;
}

export function serveRequest(
  serving: ServeContext,
  request: IncomingMessage,
  response: ServerResponse,
  identity: EmbeddedIdentity | undefined,
): void {
  const { cluster } = serving;
  cluster.figures.requests++;
  response.on('error', () => {}); // the client disconnected
  const work = async () => {
    try {
      await answerRequest(serving, request, response, identity);
    } catch (error) {
      refuse(cluster, request, response, error);
    }
  };
  // The listener knows whether the connection is authenticated. Until then the work is charged to the client's address.
  const { isSystem, org } = currentContext();
  void runFor(isSystem && org !== '' ? currentContext() : clusterContext(cluster), work, cluster.app.watch);
}

const clusterContext = (cluster: Cluster) => ({ org: cluster.org, operation: 'kubernetes' });

async function answerRequest(
  serving: ServeContext,
  request: IncomingMessage,
  response: ServerResponse,
  identity: EmbeddedIdentity | undefined,
) {
  const { cluster } = serving;
  const disconnected = new AbortController();
  response.once('close', () => disconnected.abort());
  // Counted before any work. A watch releases its slot once it is open, and counts among the watches.
  const releaseSlot = acquireSlot(cluster);
  const unread = cluster.options.unread.open({ org: cluster.org, cluster: cluster.id }, () => response.destroy());
  response.once('close', guarded('clusters.embedded.wire.serve.close', response, unread.close));
  try {
    await serving.ready();
    const { caller, requestInfo } = await identifyCaller(cluster, { identity, headers: request.headers }, request);
    const accept = (request.headers.accept ?? '').slice(0, 2_000);
    const contentType = (request.headers['content-type'] ?? '').split(';')[0]!.trim().toLowerCase();
    // A client that sent a credential and was not refused is authenticated.
    if (identity || request.headers.authorization) switchContext(clusterContext(cluster));
    const body = await readRequestBody(cluster, request, response, requestInfo, contentType);
    const reply = await serving.dispatch({
      requestInfo,
      caller,
      body,
      contentType,
      accept,
      representation: readRepresentation(accept, requestInfo),
      signal: disconnected.signal,
      unread,
    });
    discardAfterAnswer(request, response);
    if ('chunks' in reply) {
      if (reply.isWatch) releaseSlot();
      await writeChunks(reply, response, { signal: disconnected.signal, isHead: request.method === 'HEAD', unread });
    } else writeReply(response, reply, { isHead: request.method === 'HEAD', unread });
  } finally {
    releaseSlot();
  }
}

/** Returns a release function, which is safe to call twice. */
export function acquireSlot(cluster: Cluster): () => void {
  if (cluster.inFlight >= cluster.options.inflight())
    throw tooMany('this cluster has as many requests under way as its tier allows; try again in a moment');
  cluster.inFlight++;
  cluster.figures.inflightPeak = Math.max(cluster.figures.inflightPeak, cluster.inFlight);
  let isHeld = true;
  return () => {
    if (isHeld) cluster.inFlight--;
    isHeld = false;
  };
}

const serializedBodyBytes = 262_144;

async function readRequestBody(
  cluster: Cluster,
  request: IncomingMessage,
  response: ServerResponse,
  requestInfo: RequestInfo,
  type: string,
): Promise<unknown> {
  if (requestInfo.resource?.mode === 'empty' && !['get', 'list', 'watch'].includes(requestInfo.verb)) {
    discard(request);
    throw notServed(emptyKindReason(requestInfo.resource));
  }
  if (!hasBody(request) || !['POST', 'PUT', 'PATCH', 'DELETE'].includes(request.method ?? '')) return undefined;
  const held = holdUntilAnswered(cluster.app.bodies, { org: cluster.org }, response);
  const bytes = await readBody(request, { maxBytes: limits.bodyBytes, totalMs: limits.bodyTimeoutMs, held });
  if (bytes.length === 0) return undefined;
  // Large bodies of an organization are decoded one at a time, so that other tenants get turns in between.
  if (bytes.length > serializedBodyBytes)
    return held.holdWhile(() => cluster.app.heavy.run(cluster.org, () => decodeBody(bytes, type, requestInfo)));
  return decodeBody(bytes, type, requestInfo);
}

/** Decodes a body to JSON values. */
async function decodeBody(bytes: Buffer, type: string, requestInfo: RequestInfo): Promise<unknown> {
  if (type.startsWith('application/apply-patch')) return {}; // refused later, without parsing YAML
  if (type === 'application/vnd.kubernetes.protobuf') return decodeProtobuf(bytes, requestInfo);
  if (type !== '' && type !== 'application/json' && !type.endsWith('+json'))
    throw unsupportedType(
      `the body of the request was in an unknown format - accepted media types include: application/json, application/vnd.kubernetes.protobuf`,
    );
  return runYielding(readJsonInSteps(bytes, { values: limits.bodyValues }));
}

function decodeProtobuf(bytes: Buffer, requestInfo: RequestInfo): unknown {
  const { apiVersion, kind, raw } = openEnvelope(bytes);
  if (requestInfo.verb === 'delete' || requestInfo.verb === 'deletecollection')
    return decodeMessage(messageNamed('meta.DeleteOptions'), raw);
  if (!requestInfo.resource) throw noSuchPath();
  const expected = expectBody({ requestInfo });
  if (kind !== expected.kind || apiVersion !== expected.apiVersion)
    throw badRequest(
      `the body is a ${kind.slice(0, 100)} of ${apiVersion.slice(0, 100)}; expected is a ${expected.kind} of ${expected.apiVersion}`,
    );
  return { ...decodeMessage(expected.message, raw), apiVersion, kind };
}

/** The first supported representation in Accept. */
function readRepresentation(accept: string, { query, resource }: RequestInfo): Representation {
  const rowObject = query.get('includeObject');
  const shown = { rowObject: rowObject === 'None' || rowObject === 'Object' ? rowObject : 'Metadata' } as const;
  const isReview = resource?.mode === 'review';
  let isAcceptable = !isReview || accept === '';
  for (const part of accept.split(',')) {
    const [type, ...parameters] = part.split(';').map((one) => one.trim()) as [string, ...string[]];
    const as = parameters.find((one) => one.startsWith('as='))?.slice(3);
    isAcceptable ||= as === undefined;
    if (type !== 'application/json' || (isReview && as !== undefined)) continue;
    if (as === 'Table') return { as: 'table', ...shown };
    if (as === 'PartialObjectMetadata' || as === 'PartialObjectMetadataList') return { as: 'metadata', ...shown };
    if (as === undefined) break;
  }
  if (!isAcceptable) throw notAcceptable('only the following media types are accepted: application/json');
  return { as: 'object', ...shown };
}

const headers = { 'Cache-Control': 'no-cache, private', 'X-Content-Type-Options': 'nosniff' };

function writeReply(
  response: ServerResponse,
  reply: Extract<Reply, { body: unknown }>,
  { isHead, unread }: { isHead: boolean; unread: UnreadAccount },
): void {
  const isText = typeof reply.body === 'string' && !reply.body.startsWith('{');
  const text = typeof reply.body === 'string' ? reply.body : JSON.stringify(reply.body);
  const type = reply.contentType ?? (isText ? 'text/plain; charset=utf-8' : 'application/json');
  unread.add(text.length);
  for (const warning of reply.warnings ?? []) response.appendHeader('Warning', `299 - ${JSON.stringify(warning)}`);
  response
    .writeHead(reply.status, { ...headers, 'Content-Type': type, 'Content-Length': Buffer.byteLength(text) })
    .end(isHead ? undefined : text);
}

async function writeChunks(
  { chunks, isWatch }: Extract<Reply, { isWatch: boolean }>,
  response: ServerResponse,
  { signal, isHead, unread }: { signal: AbortSignal; isHead: boolean; unread: UnreadAccount },
) {
  let hasBegun = false;
  for await (const chunk of chunks) {
    if (signal.aborted) break;
    if (!hasBegun) {
      hasBegun = true;
      response.writeHead(200, { ...headers, 'Content-Type': 'application/json' });
      if (isWatch) response.flushHeaders();
      if (isHead) break;
    }
    if (chunk === '' || response.write(chunk)) continue;
    unread.add(chunk.length);
    if (!(await waitForDrain(response, signal))) return void response.destroy();
    unread.subtract(chunk.length);
  }
  if (!signal.aborted) response.end();
}

/** Backpressure: the next chunk is made once the last one is read. False: the client does not read, and its buffer is freed. */
const waitForDrain = (response: ServerResponse, signal: AbortSignal) =>
  new Promise<boolean>((resolve) => {
    if (signal.aborted || !response.writableNeedDrain) return resolve(true);
    const go = (isRead: boolean) => {
      clearTimeout(timer);
      response.off('drain', read);
      signal.removeEventListener('abort', read);
      resolve(isRead);
    };
    const read = guarded('clusters.embedded.wire.serve.read', response, () => go(true));
    const timer = setTimeout(go, limits.unreadTimeoutMs, false);
    response.on('drain', read);
    signal.addEventListener('abort', read);
  });

/** Maps an error to a Kubernetes status. */
export function toApiError(cluster: Cluster, error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof DatabaseBusy || error instanceof TenantThrottled)
    return tooMany('your organization has more requests under way than its share; try again in a moment');
  if (isTemporary(error)) return unavailableError(refuseTemporarily(error).message);
  if (error instanceof Refusal) {
    if (error.status === 413) return tooLarge(error.message);
    if (error.status === 503) return unavailableError(error.message);
    if (error.status === 408) return new ApiError(408, 'Timeout', error.message, {});
    return badRequest(error.message);
  }
  if (isAboutData(error)) return badRequest('a value in the request cannot be kept, such as a NUL in a name');
  cluster.app.log.error({ err: error, cluster: cluster.id }, 'a request to an embedded cluster failed');
  return internalError();
}

function refuse(cluster: Cluster, request: IncomingMessage, response: ServerResponse, error: unknown): void {
  const refusal = toApiError(cluster, error);
  if (refusal.code >= 500) cluster.figures.errors++;
  if (response.headersSent || response.destroyed) return void response.destroy();
  const text = JSON.stringify(statusOf(refusal));
  const seconds = refusal.details?.retryAfterSeconds;
  response
    .writeHead(refusal.code, {
      ...headers,
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(text),
      ...(seconds ? { 'Retry-After': String(seconds) } : {}),
    })
    .end(request.method === 'HEAD' ? undefined : text);
  discard(request);
}
