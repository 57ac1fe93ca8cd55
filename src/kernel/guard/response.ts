import type { ClientRequest, IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { GrowingBuffer } from '../buffers/growing-buffer.ts';
import { guarded } from '../faults/guarded.ts';
import { type BodyLimits, bounded, hasNoBody } from './body.ts';
import type { Deadline } from './deadline.ts';
import { GuardFailure, type Phase } from './errors.ts';
import type { Message } from './redirect.ts';
import type { Phases } from './types.ts';

export interface Hop {
  readonly url: string;
  readonly status: number;
  readonly address: string;
  readonly family: 4 | 6;
  /** `transfer` is set once the whole body was read. */
  readonly phases: Phases;
}

export interface GuardResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The HTTP version of the server: `1.1`, `1.0`. */
  readonly httpVersion: string;
  /** The URL that answered, after redirects. */
  readonly url: string;
  readonly hops: readonly Hop[];
  /** Read it once, by this or by one of the helpers; or drop it with `cancel`. Goes straight into stream.pipeline. */
  readonly body: AsyncGenerator<Buffer, void, undefined>;
  bytes(): Promise<Buffer>;
  text(): Promise<string>;
  json(): Promise<unknown>;
  /** At most this many bytes; the rest is not awaited. */
  firstBytes(limit: number): Promise<Buffer>;
  cancel(): void;
}

export function respond(
  response: IncomingMessage,
  { target, method }: Message,
  hops: Hop[],
  limits: BodyLimits & { readonly isKept: boolean },
  total: Deadline,
  onPhase: ((phase: Phase, ms: number, hop: number) => void) | undefined,
): GuardResponse {
  const host = target.host.name;
  const last = hops.at(-1)!;
  const started = performance.now();
  // Callers forget bodies that they do not need. The deadline then closes the connection, without keeping the process alive.
  total.relax();
  // A server may answer before it has read the request. The deadline stays while the request is being sent.
  const { req: request } = response as IncomingMessage & { req: ClientRequest };
  response.once(
    'close',
    guarded('guard.response.close', response, () =>
      request.writableFinished ? total.stop() : request.once('close', guarded('guard.response.close', request, total.stop)),
    ),
  );
  if (hasNoBody(response, method)) response.resume();
  const onEnd = (isWhole: boolean) => {
    if (!isWhole) return;
    last.phases.transfer = performance.now() - started;
    onPhase?.('transfer', last.phases.transfer, hops.length - 1);
  };
  const body = bounded({ response, method, host, signal: total.signal, limits, onEnd });

  const firstBytes = async (limit: number) => {
    const start = new GrowingBuffer(limit);
    for await (const chunk of body) {
      const room = limit - start.length;
      start.add(chunk.length > room ? chunk.subarray(0, room) : chunk);
      if (start.length >= limit) break;
    }
    return start.bytes();
  };
  const bytes = () => firstBytes(Number.POSITIVE_INFINITY);
  return {
    status: last.status,
    headers: response.headers,
    httpVersion: response.httpVersion,
    url: last.url,
    hops,
    body,
    bytes,
    text: async () => (await bytes()).toString('utf8'),
    json: async () => parseJson(await bytes(), host),
    firstBytes,
    cancel: () => (limits.isKept ? discard(response) : response.destroy()),
  };
}

/** The limits for a discarded rest: less than another connection costs, and too little for a server to delay us with. */
const discardLimits = { bytes: 4_096, ms: 100 };

/** Reads the rest of a short response, so that its connection can be reused. */
function discard(response: IncomingMessage): void {
  let bytes = 0;
  const late = setTimeout(() => response.destroy(), discardLimits.ms);
  response.once('close', () => clearTimeout(late));
  response.on(
    'data',
    guarded('guard.response.data', response, (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > discardLimits.bytes) response.destroy();
    }),
  );
}

function parseJson(bytes: Buffer, host: string): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch (error) {
    throw new GuardFailure('protocol', 'transfer', `${host} answered with something that is not JSON`, { cause: error });
  }
}
