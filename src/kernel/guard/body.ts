import type { IncomingMessage } from 'node:http';
import { pipeline, type Transform } from 'node:stream';
import { constants, createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib';
import { after } from './deadline.ts';
import { failureOf, GuardFailure } from './errors.ts';

export interface BodyLimits {
  /** On the wire and, if it is decompressed, after that. */
  readonly maxBodyBytes: number;
  /** The longest silence while the reader waits. A slow reader costs nothing. */
  readonly idleMs: number;
  /** The limit of output bytes per input byte, once the output is past the first MiB. 0 leaves the body as it came. */
  readonly maxRatio: number;
}

/** A map, since the name comes from a remote server: an object would also know `constructor`. */
const decoders = new Map<string, () => Transform>([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
  // RFC 9659: HTTP allows a window of at most 8 MiB; the library would take 128.
  ['zstd', () => createZstdDecompress({ params: { [constants.ZSTD_d_windowLogMax]: 23 } })],
]);

export const acceptEncoding = 'gzip, br, zstd';

/** No body to wait for or to decompress: an empty body is not a broken archive. */
export const hasNoBody = (response: IncomingMessage, method: string) =>
  method === 'HEAD' || response.statusCode === 204 || response.statusCode === 304 || response.headers['content-length'] === '0';

export interface BodySource {
  readonly response: IncomingMessage;
  readonly method: string;
  readonly host: string;
  readonly signal: AbortSignal;
  readonly limits: BodyLimits;
  /** Called once, at any end; true if the whole body was read. */
  readonly onEnd: (isWhole: boolean) => void;
}

/**
 * The body, chunk by chunk on demand. Everything up to the limit is delivered before the failure. So a reader that wants only the start of
 * an endless response gets it. The connection closes when its reader stops.
 */
export async function* bounded({ response, method, host, signal, limits, onEnd }: BodySource): AsyncGenerator<Buffer, void, undefined> {
  const wire = { bytes: 0 };
  const tooLarge = () => new GuardFailure('too_large', 'transfer', `${host} answered with more than ${limits.maxBodyBytes} bytes`);
  const decode = limits.maxRatio > 0 && !hasNoBody(response, method) ? decoders.get(encodingOf(response)) : undefined;
  const chunks = (decode === undefined ? response : decoded(response, decode(), wire, limits, tooLarge))[Symbol.asyncIterator]();
  let isWhole = false;
  let bytes = 0;
  try {
    for (;;) {
      const step = await unlessIdle(chunks.next(), host, limits.idleMs);
      if (step.done === true) break;
      const chunk = step.value as Buffer;
      const room = limits.maxBodyBytes - bytes;
      bytes += chunk.length;
      if (decode !== undefined && bytes > 2 ** 20 && bytes > wire.bytes * limits.maxRatio) {
        throw new GuardFailure(
          'too_large',
          'transfer',
          `${host} answered with a body that unpacks to over ${limits.maxRatio} times its size`,
        );
      }
      if (chunk.length <= room) yield chunk;
      else {
        if (room > 0) yield chunk.subarray(0, room);
        throw tooLarge();
      }
    }
    isWhole = true;
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw unpackFailure(error, host, decode !== undefined);
  } finally {
    response.destroy();
    onEnd(isWhole);
  }
}

const encodingOf = (response: IncomingMessage) => (response.headers['content-encoding'] ?? '').trim().toLowerCase();

function decoded(
  response: IncomingMessage,
  decoder: Transform,
  wire: { bytes: number },
  limits: BodyLimits,
  tooLarge: () => Error,
): Transform {
  const metered = async function* (source: AsyncIterable<Buffer>) {
    for await (const chunk of source) {
      wire.bytes += chunk.length;
      // Empty blocks decompress to nothing for ever, so the output alone would never reach a limit.
      if (wire.bytes > limits.maxBodyBytes) throw tooLarge();
      yield chunk;
    }
  };
  return pipeline(response, metered, decoder, () => {});
}

async function unlessIdle<T>(next: Promise<T>, host: string, idleMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const idle = new Promise<never>((_, reject) => {
    const stalled = () => reject(new GuardFailure('timeout', 'transfer', `${host} stopped in the middle of its answer`));
    timer = after(idleMs, stalled);
  });
  try {
    return await Promise.race([next, idle]);
  } finally {
    clearTimeout(timer);
  }
}

function unpackFailure(error: unknown, host: string, isPacked: boolean): unknown {
  const failure = failureOf(error, host, 'transfer');
  if (failure instanceof GuardFailure || !isPacked) return failure;
  return new GuardFailure('protocol', 'transfer', `${host} answered with a body that cannot be unpacked`, { cause: error });
}
