import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { finished } from 'node:stream';
import { GrowingBuffer } from '../buffers/growing-buffer.ts';
import { releaseBuffer } from '../buffers/release-buffer.ts';
import { Refusal } from '../errors.ts';
import type { ByteBudget, ByteReservation, Holders } from '../fairness/index.ts';
import { guarded } from '../faults/guarded.ts';
import { discard, hasBody } from './discard.ts';

export interface BodyLimits {
  maxBytes: number;
  /** The deadline of the whole body: a slow sender holds a connection, never a worker. */
  totalMs: number;
  /** The reservation that its bytes count against: see `holdUntilAnswered`. */
  held: ByteReservation;
}

/** The bytes of a request count for its sender until it is answered, or until it is gone and no work uses them (`holdWhile`). */
export function holdUntilAnswered(bodies: ByteBudget, holders: Holders, response: ServerResponse): ByteReservation {
  const reservation = bodies.open(holders);
  response.once('close', guarded('http.body.close', response, reservation.release));
  return reservation;
}

/** Reads a request's body, limited in size and time. */
export function readBody(request: IncomingMessage, { maxBytes, totalMs, held }: BodyLimits): Promise<Buffer> {
  const declared = Number(request.headers['content-length'] ?? 0);
  if (declared > maxBytes) {
    discard(request);
    return Promise.reject(tooLarge(maxBytes));
  }
  if (request.destroyed) return Promise.reject(cutOff()); // the client left during authentication: no further event will come
  return new Promise((resolve, reject) => {
    const body = new GrowingBuffer(maxBytes);
    const timer = setTimeout(
      () =>
        finish(
          new Refusal(408, 'timeout', `the body did not arrive within ${totalMs / 1000} seconds`, { headers: { connection: 'close' } }),
        ),
      totalMs,
    );
    const finish = (error?: Error) => {
      clearTimeout(timer);
      request.removeListener('data', onData).removeListener('end', onEnd).removeListener('error', onError).removeListener('close', onClose);
      if (!error) return resolve(body.bytes());
      discard(request);
      reject(error);
    };
    const onData = guarded('http.body.onData', request, (chunk: Buffer) => {
      if (body.length + chunk.length > maxBytes) finish(tooLarge(maxBytes));
      else if (!held.reserve(chunk.length)) finish(bodyMemoryFull());
      else body.add(chunk);
    });
    const onEnd = guarded('http.body.onEnd', request, () => finish());
    const onError = guarded('http.body.onError', request, () => finish(cutOff()));
    const onClose = guarded('http.body.onClose', request, () => finish(cutOff()));
    request.on('data', onData).once('end', onEnd).once('error', onError).once('close', onClose);
  });
}

/** How many chunks may be buffered for a reader that is slower than the sender. */
const maxBufferedChunks = 2;

/**
 * A body of any length as a stream. Each chunk is valid until the next one is requested; a reader that needs it longer copies it. The
 * request stays open when the reader stops. (A stream's own iterator makes node stop and start reading from the socket for every chunk.)
 */
export async function* chunksOfBody(request: IncomingMessage): AsyncGenerator<Buffer> {
  const buffered: Buffer[] = [];
  let changed = Promise.withResolvers<void>();
  let end: { error: Error | undefined | null } | undefined;
  const take = guarded('http.body.take', request, (chunk: Buffer) => {
    if (buffered.push(chunk) >= maxBufferedChunks) request.pause();
    changed.resolve();
  });
  const onEnd = guarded('http.body.end', request, (error: Error | undefined | null) => {
    end = { error };
    changed.resolve();
  });
  const unwatch = finished(request, { writable: false }, onEnd);
  request.on('data', take);
  try {
    for (;;) {
      for (let chunk = buffered.shift(); chunk; chunk = buffered.shift()) {
        yield chunk;
        releaseBuffer(chunk);
      }
      if (end?.error) throw end.error;
      if (end) return;
      request.resume();
      await changed.promise;
      changed = Promise.withResolvers();
    }
  } finally {
    unwatch();
    request.removeListener('data', take).pause();
  }
}

const cutOff = () => new Refusal(400, 'invalid', 'the body was cut off');
const tooLarge = (maxBytes: number) => new Refusal(413, 'too_large', `the body is larger than ${maxBytes} bytes`);

export const bodyMemoryFull = () =>
  new Refusal(503, 'unavailable', 'too many bytes of yours are on their way here at once; send this again in a moment', {
    headers: { 'retry-after': '2' },
    isTold: true,
  });

/** The rest of a body whose response has left is read for a few seconds more and then cut. */
export function discardAfterAnswer(request: IncomingMessage, response: ServerResponse): void {
  if (hasBody(request))
    response.once(
      'finish',
      guarded(
        'http.body.finish',
        response,
        AsyncLocalStorage.bind(() => discard(request)),
      ),
    );
}

/**
 * Sends a response whose Content-Length is set. Its end closes the connection, if it says `Connection: close`. So it waits until the body
 * has arrived, or was discarded for long enough: a client that is cut off while sending never reads the response.
 */
export function endAfterBody(request: IncomingMessage, response: ServerResponse, answer: string): void {
  if (request.complete || request.destroyed || !hasBody(request)) return void response.end(answer);
  response.write(answer);
  const end = guarded('http.body.end', request, () => void response.end());
  request.once('end', end).once('close', end);
  discard(request);
}
