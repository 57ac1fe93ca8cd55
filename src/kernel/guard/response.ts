import type { ClientRequest, IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { guarded } from '../faults/guarded.ts';
import { GrowingBuffer } from '../growing-buffer.ts';
import { type BodyLimits, bounded, hasNoBody } from './body.ts';
import type { Deadline } from './deadline.ts';
import type { Phases } from './dial.ts';
import { GuardFailure, type Phase } from './errors.ts';
import type { Message } from './redirect.ts';

export interface Hop {
  readonly url: string;
  readonly status: number;
  readonly address: string;
  readonly family: 4 | 6;
  /** `transfer` is there once the whole body was read. */
  readonly phases: Phases;
}

export interface GuardResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** What the peer says it speaks: `1.1`, `1.0`. */
  readonly httpVersion: string;
  /** Where the answer came from, after redirects. */
  readonly url: string;
  readonly hops: readonly Hop[];
  /** To be read once, by this or by one of the helpers; or let go with `cancel`. Goes straight into stream.pipeline. */
  readonly body: AsyncGenerator<Buffer, void, undefined>;
  bytes(): Promise<Buffer>;
  text(): Promise<string>;
  json(): Promise<unknown>;
  /** At most so many bytes; the rest is not waited for. */
  firstBytes(most: number): Promise<Buffer>;
  cancel(): void;
}

export function respond(
  response: IncomingMessage,
  { target, method }: Message,
  hops: Hop[],
  limits: BodyLimits & { readonly isKept: boolean },
  whole: Deadline,
  onPhase: ((phase: Phase, ms: number, hop: number) => void) | undefined,
): GuardResponse {
  const host = target.host.name;
  const last = hops.at(-1)!;
  const started = performance.now();
  // Readers forget bodies they do not need. The deadline then closes the connection, and ends with it, but holds nothing up.
  whole.relax();
  // A peer may answer and not read what it was sent: as long as that is under way, the deadline stays.
  const { req: request } = response as IncomingMessage & { req: ClientRequest };
  response.once(
    'close',
    guarded('guard.response.close', response, () =>
      request.writableFinished ? whole.stop() : request.once('close', guarded('guard.response.close', request, whole.stop)),
    ),
  );
  if (hasNoBody(response, method)) response.resume();
  const onEnd = (isWhole: boolean) => {
    if (!isWhole) return;
    last.phases.transfer = performance.now() - started;
    onPhase?.('transfer', last.phases.transfer, hops.length - 1);
  };
  const body = bounded({ response, method, host, signal: whole.signal, limits, onEnd });

  const firstBytes = async (most: number) => {
    const beginning = new GrowingBuffer(most);
    for await (const chunk of body) {
      const room = most - beginning.length;
      beginning.add(chunk.length > room ? chunk.subarray(0, room) : chunk);
      if (beginning.length >= most) break;
    }
    return beginning.bytes();
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

/** So little is read and waited for in vain: less than another connection costs, and nothing that a peer could keep us with. */
const mostDiscarded = { bytes: 4_096, ms: 100 };

/** Lets the rest of a short answer pass, so that its connection is there for the next request. */
function discard(response: IncomingMessage): void {
  let bytes = 0;
  const late = setTimeout(() => response.destroy(), mostDiscarded.ms);
  response.once('close', () => clearTimeout(late));
  response.on(
    'data',
    guarded('guard.response.data', response, (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > mostDiscarded.bytes) response.destroy();
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
