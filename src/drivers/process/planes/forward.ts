import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http';
import type { Writable } from 'node:stream';
import { guarded } from '../../../kernel/faults/guarded.ts';
import { discard } from '../../../kernel/http/discard.ts';
import type { CertificateIdentity } from '../../driver.ts';
import { ApiError, statusOf, tooMany, unauthorized, unavailableError } from '../../status.ts';
import { type ApiserverRequest, dialServer } from '../clients/dial.ts';
import { admit, checkRoom } from '../engine/capacity.ts';
import type { ForwardContext } from '../engine/state.ts';
import type { InflightRequest } from '../engine/target-pool.ts';
import { framingOf, isLongRunning, mastersGroup, requestHeaders, responseHeaders } from '../rules/forwarding.ts';
import { estimateWrite, type WriteEstimate } from '../rules/write-size.ts';

/** A response that its caller does not read for this long is aborted; a body that is announced begins in time; a request is sent to at most this many apiservers. */
const limits = { unreadTimeoutMs: 30_000, firstByteMs: 10_000, maxAttempts: 3 };

/** The headers and credential that tell an apiserver who the caller is. Throws for a caller that is refused. */
export function identifyCaller(
  { isRefused }: ForwardContext,
  raw: readonly string[],
  identity: CertificateIdentity | undefined,
): Pick<ApiserverRequest, 'headers' | 'credential'> & { headers: string[] } {
  if (identity && isRefused(identity.fingerprint)) throw unauthorized();
  // The cluster's administrators could approve themselves a certificate for system:masters, so one that the cluster signed is refused.
  if (identity?.organizations.includes(mastersGroup) && !identity.isInternal) throw unauthorized();
  const headers = requestHeaders(raw, identity);
  if (!headers) throw unauthorized();
  return { headers, credential: identity ? 'front' : 'plain' };
}

/** Forwards one request of the cluster's listener to an apiserver. Never throws. */
export function forwardRequest(
  forwarding: ForwardContext,
  request: IncomingMessage,
  response: ServerResponse,
  identity: CertificateIdentity | undefined,
): void {
  forwarding.figures.requests++;
  response.on('error', () => {}); // the caller closed its connection
  try {
    const caller = identifyCaller(forwarding, request.rawHeaders, identity);
    // A body of unknown length is framed again, whatever the method: without framing the apiserver would read it as the next request.
    const framing = framingOf(request.rawHeaders);
    if (framing === 'chunks') caller.headers.push('Transfer-Encoding', 'chunked');
    const onwardRequest: ApiserverRequest = { ...caller, method: request.method ?? 'GET', path: request.url ?? '/' };
    const isLong = isLongRunning(onwardRequest.method, onwardRequest.path);
    const endRequest = isLong ? () => {} : beginRequest(forwarding);
    response.once('close', guarded('clusters.process.forward.close', response, endRequest));
    const hasBody = framing !== 'none';
    const write = estimateWrite(onwardRequest.method, onwardRequest.path, request.headers);
    if (write) checkRoom(forwarding.capacity, write);
    const exchange: Exchange = { forwarding, request, response, onwardRequest, isLong, hasBody, write };
    const waiting = joinWaits(forwarding.gate?.pass(), write && !hasBody ? admitWrite(exchange, write) : undefined);
    if (!waiting) return void attemptTarget(exchange, 0);
    waiting.then(() => response.destroyed || attemptTarget(exchange, 0)).catch((error) => refuse(forwarding, request, response, error));
  } catch (error) {
    refuse(forwarding, request, response, error);
  }
}

/** Undefined: neither has to be waited for. */
function joinWaits(...waits: (Promise<void> | undefined)[]): Promise<unknown> | undefined {
  const some = waits.filter((each) => each !== undefined);
  return some.length === 0 ? undefined : Promise.all(some);
}

/** Undefined: the request may be forwarded at once. Throws, or rejects, when the store has no room for a write. */
function admitWrite({ forwarding, response }: Exchange, write: WriteEstimate): Promise<void> | undefined {
  const { release, measured } = admit(forwarding.capacity, write);
  response.once('close', guarded('clusters.process.capacity.close', response, release));
  return measured;
}

/** Counts a request before any work is done for it. Throws above the tier's limit. */
export function beginRequest(forwarding: ForwardContext): () => void {
  if (forwarding.inflight >= forwarding.maxInflight())
    throw tooMany('this cluster has as many requests under way as its tier allows; try again in a moment');
  forwarding.inflight++;
  forwarding.figures.inflightPeak = Math.max(forwarding.figures.inflightPeak, forwarding.inflight);
  return () => {
    forwarding.inflight--;
  };
}

interface Exchange {
  forwarding: ForwardContext;
  request: IncomingMessage;
  response: ServerResponse;
  onwardRequest: ApiserverRequest;
  isLong: boolean;
  /** A body that the headers do not announce is not sent. */
  hasBody: boolean;
  write: WriteEstimate | undefined;
}

/** Nothing is sent until the connection is established and the body has begun, so until then another apiserver can be tried. */
function attemptTarget(exchange: Exchange, attempt: number): void {
  const { forwarding, request, response, onwardRequest, isLong } = exchange;
  const target = forwarding.pool.next();
  if (!target) return void holdUntilUsable(forwarding, request, response, () => attemptTarget(exchange, attempt));
  const inflight: InflightRequest = { isLongRunning: isLong };
  const done = forwarding.pool.begin(target, inflight);
  const onward = dialServer(target, onwardRequest);
  inflight.abort = () => onward.destroy();
  let isConnected = false;
  let isSent = false;
  let isAnswered = false;
  let late: NodeJS.Timeout | undefined;
  let stopBody = () => {};
  const sent = guarded('clusters.process.forward.sent', request, () => {
    isSent = true;
    clearTimeout(late);
  });
  response.once('close', () => onward.destroy());
  const leave = () => {
    clearTimeout(late);
    stopBody();
    done();
  };
  onward.once('close', guarded('clusters.process.forward.close', onward, leave));
  onward.once(
    'socket',
    guarded('clusters.process.forward.socket', onward, (socket) => {
      const send = guarded('clusters.process.forward.send', socket, () => {
        isConnected = true;
        if (exchange.hasBody) {
          request.once('data', sent).once('end', sent); // headers go out with the first byte of the body
          late = setTimeout(() => {
            refuse(forwarding, request, response, bodyMissing());
            onward.destroy();
          }, limits.firstByteMs);
          stopBody = passBody(exchange, onward);
          return;
        }
        sent();
        onward.end();
      });
      if (socket.connecting || ('secureConnecting' in socket && socket.secureConnecting)) socket.once('secureConnect', send);
      else send();
    }),
  );
  onward.once(
    'response',
    guarded('clusters.process.forward.response', onward, (answer) => {
      isAnswered = true;
      const reportUnlessComplete = () => answer.complete || response.destroyed || forwarding.pool.reportFailure(target, false);
      answer.once('close', guarded('clusters.process.forward.answer-close', answer, reportUnlessComplete));
      sendResponse(exchange, answer);
    }),
  );
  onward.on(
    'error',
    guarded('clusters.process.forward.error', onward, () => {
      if (response.destroyed || response.writableEnded) return;
      forwarding.pool.reportFailure(target, !isConnected);
      if (isAnswered) return void response.destroy();
      const mayRetry = !isSent || isRetryable(exchange);
      request.off('data', sent).off('end', sent);
      stopBody();
      if (mayRetry && attempt + 1 < limits.maxAttempts) attemptTarget(exchange, attempt + 1);
      else refuse(forwarding, request, response, mayRetry ? noApiserver() : outcomeUnknown());
    }),
  );
}

/**
 * Passes the body on. That of a write takes room in the store once it is complete, and its last piece follows then: without that nothing is
 * stored, and bodies that never end keep no room from others. The returned function ends it.
 */
function passBody(exchange: Exchange, onward: ClientRequest): () => void {
  const { forwarding, request, response, write } = exchange;
  if (!write) {
    request.pipe(onward);
    return () => request.unpipe(onward);
  }
  let last: Buffer | undefined;
  const pass = guarded('clusters.process.forward.body', request, (piece: Buffer) => {
    const before = last;
    last = piece;
    if (before && !onward.write(before)) request.pause();
  });
  const isOver = () => onward.destroyed || response.destroyed;
  const finish = () => void (isOver() || onward.end(last));
  const fail = (error: unknown) => {
    refuse(forwarding, request, response, error);
    onward.destroy();
  };
  const end = guarded('clusters.process.forward.body-end', request, () => {
    if (isOver()) return;
    try {
      const waiting = admitWrite(exchange, write);
      if (waiting) waiting.then(finish).catch(fail);
      else finish();
    } catch (error) {
      fail(error);
    }
  });
  onward.on(
    'drain',
    guarded('clusters.process.forward.drain', request, () => void request.resume()),
  );
  request.on('data', pass).once('end', end).resume();
  return () => {
    if (request.readableEnded || !request.listeners('data').includes(pass)) return;
    request.off('data', pass).off('end', end).pause();
  };
}

/** Goes on once an apiserver is usable. Nothing of the request was sent, or it may be repeated. */
function holdUntilUsable(forwarding: ForwardContext, request: IncomingMessage, response: ServerResponse, goOn: () => void): void {
  const { hold, pool } = forwarding;
  if (!hold) return void refuse(forwarding, request, response, noApiserver());
  void hold(request, response, pool.hasNext).then((isOpen) => {
    if (response.destroyed) return;
    try {
      if (isOpen) goOn();
      else refuse(forwarding, request, response, noApiserver());
    } catch (error) {
      refuse(forwarding, request, response, error);
    }
  });
}

/** An apiserver that died may have executed a write, so only reads are repeated. */
const isRetryable = ({ onwardRequest: { method }, hasBody }: Exchange): boolean => (method === 'GET' || method === 'HEAD') && !hasBody;

/** Streams the response, no faster than the caller reads it. */
function sendResponse({ forwarding, response, isLong }: Exchange, answer: IncomingMessage): void {
  const status = answer.statusCode ?? 502;
  if (status >= 500) forwarding.figures.errors++;
  if (response.destroyed) return void answer.destroy();
  response.writeHead(status, responseHeaders(answer.rawHeaders));
  response.flushHeaders();
  pipeResponse(answer, response);
  if (isLong) endWithServer(forwarding.ending, answer, response);
}

/** A watch ends as if its time was over when this server ends: its caller goes on with the next one. */
function endWithServer(ending: AbortSignal, answer: IncomingMessage, response: ServerResponse): void {
  const end = () => {
    answer.removeAllListeners().on('error', () => {});
    response.end();
  };
  if (ending.aborted) return void end();
  ending.addEventListener('abort', end, { once: true });
  response.once(
    'close',
    guarded('clusters.process.forward.close', response, () => ending.removeEventListener('abort', end)),
  );
}

/** Pipes with backpressure, and aborts when the caller reads nothing for 30 s. */
export function pipeResponse(answer: IncomingMessage, caller: Writable): void {
  let unread: NodeJS.Timeout | undefined;
  answer.on(
    'data',
    guarded('clusters.process.forward.data', answer, (chunk) => {
      if (caller.write(chunk)) return;
      answer.pause();
      unread ??= setTimeout(() => caller.destroy(), limits.unreadTimeoutMs);
    }),
  );
  caller.on(
    'drain',
    guarded('clusters.process.forward.drain', caller, () => {
      clearTimeout(unread);
      unread = undefined;
      answer.resume();
    }),
  );
  caller.once('close', () => clearTimeout(unread));
  answer.once(
    'end',
    guarded('clusters.process.forward.end', answer, () => caller.end()),
  );
  // The response broke off: the caller must not take the part for the whole.
  answer.once(
    'close',
    guarded('clusters.process.forward.close', answer, () => {
      if (!answer.complete) caller.destroy();
    }),
  );
  answer.on('error', () => caller.destroy());
}

const bodyMissing = () =>
  new ApiError(408, 'Timeout', `the body of the request did not begin within ${limits.firstByteMs / 1_000} s; send it with the headers`);

const noApiserver = () => unavailableError('no apiserver of this cluster answers at the moment; try again shortly');

/** Without Retry-After: with it, Kubernetes' clients repeat any method, and the write may have been executed. */
const outcomeUnknown = () =>
  new ApiError(503, 'ServiceUnavailable', 'the apiserver that had this request ended before it answered; it may have been done');

/** Answers with a Kubernetes Status. Its clients retry by themselves when there is a Retry-After. */
function refuse({ figures }: ForwardContext, request: IncomingMessage, response: ServerResponse, error: unknown): void {
  const refusal = error instanceof ApiError ? error : unavailableError('the request could not be handed on');
  if (refusal.code >= 500) figures.errors++;
  if (response.headersSent || response.destroyed) return void response.destroy();
  const text = JSON.stringify(statusOf(refusal));
  const seconds = refusal.details?.retryAfterSeconds;
  response
    .writeHead(refusal.code, {
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(text),
      ...(seconds ? { 'Retry-After': String(seconds) } : {}),
    })
    .end(request.method === 'HEAD' ? undefined : text);
  discard(request);
}
