import type { IncomingMessage } from 'node:http';
import { Refusal } from '../errors.ts';
import { GrowingBuffer } from '../growing-buffer.ts';

export interface BodyLimits {
  maxBytes: number;
  /** The whole body must be here by then: a slow sender holds a connection, never a worker. */
  totalMs: number;
}

/** Reads a request's body, bounded in size and time. */
export function readBody(request: IncomingMessage, { maxBytes, totalMs }: BodyLimits): Promise<Buffer> {
  const declared = Number(request.headers['content-length'] ?? 0);
  if (declared > maxBytes) {
    discard(request);
    return Promise.reject(tooLarge(maxBytes));
  }
  if (request.destroyed) return Promise.reject(cutOff()); // it left while we asked who it is: nothing more will be said of it
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
    const onData = (chunk: Buffer) => {
      if (body.length + chunk.length > maxBytes) finish(tooLarge(maxBytes));
      else body.add(chunk);
    };
    const onEnd = () => finish();
    const onError = () => finish(cutOff());
    const onClose = () => finish(cutOff());
    request.on('data', onData).once('end', onEnd).once('error', onError).once('close', onClose);
  });
}

const cutOff = () => new Refusal(400, 'invalid', 'the body was cut off');
const tooLarge = (maxBytes: number) => new Refusal(413, 'too_large', `the body is larger than ${maxBytes} bytes`);

const discarded = new WeakSet<IncomingMessage>();
const linger = { maxBytes: 67_108_864, ms: 5_000 };

/** Whoever is cut off while still sending never reads why (RFC 9112, 9.6): so the rest is read and thrown away, within bounds. */
export function discard(request: IncomingMessage) {
  const { 'content-length': length = '0', 'transfer-encoding': encoding } = request.headers;
  if (request.complete || discarded.has(request) || (length === '0' && encoding === undefined)) return;
  discarded.add(request);
  let left = linger.maxBytes;
  const timer = setTimeout(() => request.destroy(), linger.ms).unref();
  request.once('close', () => clearTimeout(timer));
  request.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) request.destroy();
  });
}
