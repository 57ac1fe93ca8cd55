import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { guarded } from '../faults/guarded.ts';
import { joinChunks } from '../http/joined-chunks.ts';
import { after } from './deadline.ts';
import { failureOf, GuardFailure, GuardRefusal } from './errors.ts';
import type { Message } from './redirect.ts';

const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** Headers that frame the message or address the next hop are set by the guard: a user who sets them could smuggle a second request. */
const reservedHeaders = /^(host|connection|content-length|transfer-encoding|upgrade|te|trailer|keep-alive|expect|proxy-.*|http2-settings)$/;

const badRequest = (sentence: string): never => {
  throw new GuardRefusal('request', sentence);
};

export function checkedMethod(method: string): string {
  return methods.has(method) ? method : badRequest(`the method must be one of ${[...methods].join(', ')}`);
}

/** Names in lower case. Values are checked before a connection is opened. */
export function checkedHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  const checked: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    const lower = name.toLowerCase();
    if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(lower)) badRequest('a header name has characters that no header name has');
    if (reservedHeaders.test(lower)) badRequest(`the header ${lower} cannot be set; leave it out`);
    // RFC 9110 5.5: visible characters, spaces and tabs; a line break would begin another header.
    if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) badRequest(`the value of the header ${lower} has characters that no header value has`);
    checked[lower] = value;
  }
  return checked;
}

export interface ExchangeLimits {
  readonly headersMs: number;
  readonly maxHeaderBytes: number;
}

/**
 * One request on an open connection, up to the head of its response. The signal also ends the body. With `keep` the connection is handed on
 * once the whole response was read. Otherwise, and after any failure, it is closed.
 */
export function exchange(
  socket: Socket,
  message: Message,
  limits: ExchangeLimits,
  signal: AbortSignal,
  keep?: () => void,
): Promise<IncomingMessage> {
  const { target, method, headers, body } = message;
  return new Promise((resolve, reject) => {
    // Without an agent: the connection is the checked one, without a proxy from the environment.
    const request = httpRequest({
      createConnection: () => socket,
      setHost: false,
      method,
      path: target.url.pathname + target.url.search,
      headers: { host: target.url.host, ...headers, ...lengthOf(method, body), ...(keep ? { connection: 'keep-alive' } : {}) },
      maxHeaderSize: limits.maxHeaderBytes,
    });
    const late = after(limits.headersMs, () =>
      fail(new GuardFailure('timeout', 'firstByte', `${target.host.name} did not answer in time`)),
    );
    const abort = () => fail(signal.reason);
    let answer: IncomingMessage | undefined;
    const fail = guarded('guard.exchange.fail', request, (error: unknown) => {
      clearTimeout(late);
      answer?.destroy(error as Error); // otherwise its reader would take the discarded rest for a regular end
      request.destroy();
      reject(failureOf(error, target.host.name, 'firstByte'));
    });
    request.on(
      'response',
      guarded('guard.exchange.response', request, (response) => {
        clearTimeout(late);
        answer = response.on('error', () => {});
        if (keep) closeOnStray(socket, request, response);
        joinChunks(response);
        resolve(response);
      }),
    );
    request.on(
      'upgrade',
      guarded('guard.exchange.upgrade', request, (_response, upgraded) => {
        upgraded.destroy();
        fail(new GuardFailure('protocol', 'firstByte', `${target.host.name} switched to another protocol without being asked`));
      }),
    );
    request.on('error', fail);
    request.on(
      'close',
      guarded('guard.exchange.close', request, () => {
        clearTimeout(late);
        signal.removeEventListener('abort', abort);
        // Node closes a request before its connection only if the response was read to its end and both sides keep the connection alive.
        if (keep && answer && !socket.destroyed) keep();
        else socket.destroy();
        if (answer) return;
        reject(new GuardFailure('connection_reset', 'firstByte', `${target.host.name} closed the connection before the end`));
      }),
    );
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
    request.end(body ?? undefined);
  });
}

/**
 * Data after the end of a response, while its reader is not done, belongs to no request. The state of such a connection is unknown, so it
 * is closed.
 */
function closeOnStray(socket: Socket, request: ClientRequest, response: IncomingMessage): void {
  const stray = guarded('guard.exchange.stray', socket, () => {
    if (response.complete) socket.destroy();
  });
  socket.prependListener('data', stray); // before the parser, which sets `complete`
  request.once(
    'close',
    guarded('guard.exchange.close', request, () => socket.off('data', stray)),
  );
}

/** RFC 9110 8.6: a method that usually has a body sends a length of 0 when there is none. */
const lengthOf = (method: string, body: Uint8Array | null): Record<string, string> => {
  if (body !== null) return { 'content-length': String(body.byteLength) };
  return method === 'POST' || method === 'PUT' || method === 'PATCH' ? { 'content-length': '0' } : {};
};
