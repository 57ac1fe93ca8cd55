import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { guarded } from '../../../kernel/faults/guarded.ts';
import type { CertificateIdentity } from '../../driver.ts';
import { ApiError, statusOf, unavailableError } from '../../status.ts';
import { type ApiserverRequest, dialServer } from '../clients/dial.ts';
import type { ForwardContext } from '../engine/state.ts';
import { isLongRunning, responseHeaders, withoutBody } from '../rules/forwarding.ts';
import { beginRequest, identifyCaller, pipeResponse } from './forward.ts';

// HTTP upgrades for exec, attach and port-forward: after the first response the connection is no longer HTTP, and bytes go both ways.

/** An apiserver asks the node's kubelet before it answers. */
const responseTimeoutMs = 60_000;
const maxAttempts = 3;
/** A connection is closed so long after its last bytes were sent, or given up: its peer may keep its half open without end. */
const lingerMs = { sent: 2_000, unsent: 30_000 };

/** Forwards an upgrade. Never throws. The connection counts against the tier's connections until either side closes it. */
export function forwardUpgrade(
  forwarding: ForwardContext,
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  identity: CertificateIdentity | undefined,
): void {
  forwarding.figures.requests++;
  socket.on('error', () => {});
  try {
    const { method = 'GET', url: path = '/' } = request;
    const { headers: callerHeaders, credential } = identifyCaller(forwarding, request.rawHeaders, identity);
    // Until an apiserver accepts the upgrade it counts as a request: an `Upgrade` header alone must not evade the tier's limit.
    const endRequest = isLongRunning(method, path) ? () => {} : once(beginRequest(forwarding));
    socket.once('close', guarded('clusters.process.talk.close', socket, endRequest));
    const headers = [...withoutBody(method, callerHeaders), 'Connection', 'Upgrade', 'Upgrade', String(request.headers.upgrade)];
    attemptTarget({ forwarding, request, socket, head, onwardRequest: { method, path, headers, credential }, endRequest }, 1);
  } catch (error) {
    refuse(forwarding, socket, error);
  }
}

interface Upgrade {
  forwarding: ForwardContext;
  request: IncomingMessage;
  socket: Duplex;
  head: Buffer;
  onwardRequest: ApiserverRequest;
  /** Ends its count as a request. */
  endRequest: () => void;
}

/** Until something is sent, another apiserver can be tried. */
function attemptTarget(upgrade: Upgrade, attempt: number): void {
  const { forwarding, socket, head, onwardRequest, endRequest } = upgrade;
  const { pool } = forwarding;
  const target = pool.next();
  if (!target) return void holdUntilUsable(upgrade, attempt);
  const onward = dialServer(target, onwardRequest);
  const done = pool.begin(target, { isLongRunning: true, abort: () => socket.destroy() });
  const timer = setTimeout(() => onward.destroy(), responseTimeoutMs);
  let isConnected = false;
  let isAnswered = false;
  const end = () => {
    clearTimeout(timer);
    done();
    onward.destroy();
  };
  socket.once('close', guarded('clusters.process.talk.close', socket, end));
  onward.once(
    'socket',
    guarded('clusters.process.talk.socket', onward, (upstream) => {
      const send = guarded('clusters.process.talk.send', upstream, () => {
        isConnected = true;
        onward.end();
      });
      if (upstream.connecting || ('secureConnecting' in upstream && upstream.secureConnecting)) upstream.once('secureConnect', send);
      else send();
    }),
  );
  onward.on(
    'error',
    guarded('clusters.process.talk.error', onward, () => {
      if (socket.destroyed) return;
      pool.reportFailure(target, !isConnected);
      if (isAnswered || isConnected || attempt >= maxAttempts) return void socket.destroy();
      end();
      attemptTarget(upgrade, attempt + 1);
    }),
  );
  onward.once(
    'response',
    guarded('clusters.process.talk.response', onward, (answer) => {
      isAnswered = true;
      clearTimeout(timer);
      writeHead(socket, answer, ['Connection', 'close']);
      answer.once(
        'close',
        guarded('clusters.process.talk.answered', socket, () => closeSoon(socket)),
      );
      pipeResponse(answer, socket);
    }),
  );
  onward.once(
    'upgrade',
    guarded('clusters.process.talk.upgrade', onward, (answer, upstream, first) => {
      isAnswered = true;
      clearTimeout(timer);
      endRequest();
      writeHead(socket, answer, ['Connection', 'Upgrade', 'Upgrade', String(answer.headers.upgrade)]);
      joinStreams(socket, upstream, head, first);
    }),
  );
}

function holdUntilUsable(upgrade: Upgrade, attempt: number): void {
  const { forwarding, request, socket } = upgrade;
  const away = () => refuse(forwarding, socket, unavailableError('no apiserver of this cluster answers at the moment; try again shortly'));
  if (!forwarding.hold) {
    away();
    return;
  }
  void forwarding.hold(request, socket, forwarding.pool.hasNext).then((isOpen) => {
    if (socket.destroyed) return;
    try {
      if (isOpen) attemptTarget(upgrade, attempt);
      else away();
    } catch (error) {
      refuse(forwarding, socket, error);
    }
  });
}

function once(act: () => void): () => void {
  let isDone = false;
  return () => {
    if (!isDone) act();
    isDone = true;
  };
}

function writeHead(socket: Duplex, answer: IncomingMessage, more: readonly string[]): void {
  const all = [...responseHeaders(answer.rawHeaders), ...more];
  const lines = [`HTTP/1.1 ${answer.statusCode} ${answer.statusMessage ?? ''}`];
  for (let n = 0; n < all.length; n += 2) lines.push(`${all[n]}: ${all[n + 1]}`);
  socket.write(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
}

/** Pipes both directions with backpressure; when one side closes, so does the other. */
function joinStreams(client: Duplex, upstream: Duplex, clientHead: Buffer, upstreamHead: Buffer): void {
  upstream.on('error', () => client.destroy());
  client.once('close', () => upstream.destroy());
  upstream.once(
    'close',
    guarded('clusters.process.talk.close', client, () => closeSoon(client.end())),
  );
  if (upstreamHead.length > 0) client.write(upstreamHead);
  if (clientHead.length > 0) upstream.write(clientHead);
  client.pipe(upstream);
  upstream.pipe(client);
}

function refuse({ figures }: ForwardContext, socket: Duplex, error: unknown): void {
  const refusal = error instanceof ApiError ? error : unavailableError('the connection could not be handed on');
  if (refusal.code >= 500) figures.errors++;
  const text = JSON.stringify(statusOf(refusal));
  const lines = [
    `HTTP/1.1 ${refusal.code} ${STATUS_CODES[refusal.code] ?? ''}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(text)}`,
    'Connection: close',
  ];
  closeSoon(socket.end(`${lines.join('\r\n')}\r\n\r\n${text}`));
}

/** For a connection whose last bytes are written. */
function closeSoon(socket: Duplex): void {
  let timer: NodeJS.Timeout;
  const wait = (ms: number) => {
    clearTimeout(timer);
    if (!socket.destroyed) timer = setTimeout(() => socket.destroy(), ms);
  };
  wait(socket.writableFinished ? lingerMs.sent : lingerMs.unsent);
  socket.once(
    'finish',
    guarded('clusters.process.talk.finish', socket, () => wait(lingerMs.sent)),
  );
  socket.once('close', () => clearTimeout(timer));
}
