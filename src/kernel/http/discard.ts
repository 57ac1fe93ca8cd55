import type { IncomingMessage } from 'node:http';
import { currentContext, RoundRobinQueue, watchLoop } from '../fairness/index.ts';
import { guarded } from '../faults/guarded.ts';

/** Whether the headers announce a body. */
export const hasBody = ({ headers: { 'content-length': length = '0', 'transfer-encoding': encoding } }: IncomingMessage): boolean =>
  length !== '0' || encoding !== undefined;

const discarded = new WeakSet<IncomingMessage>();
const linger = { maxBytes: 67_108_864, ms: 5_000 };

/** A client that is cut off while sending never reads the response (RFC 9112, 9.6). So the rest is read and discarded, within limits. */
export function discard(request: IncomingMessage) {
  if (request.complete || discarded.has(request) || !hasBody(request)) return;
  discarded.add(request);
  // Senders take turns, by organization or address. The claimed identity of a refused request was not checked, so it does not count.
  const sender = currentContext().org;
  let left = linger.maxBytes;
  const timer = setTimeout(() => request.destroy(), linger.ms).unref();
  request.once('close', () => clearTimeout(timer));
  request.on(
    'data',
    guarded('http.discard.data', request, (chunk: Buffer) => {
      left -= chunk.length;
      if (left < 0) request.destroy();
      else throttle(request, chunk.length, sender);
    }),
  );
  request.resume(); // the handler may have stopped reading in the middle
}

/**
 * Discarded bytes share one rate limit, since reading them costs as much as reading wanted ones. Each chunk costs an extra 1 KiB, so a
 * sender of few bytes does not delay a sender of many that waits for its refusal.
 */
const rateLimit = { intervalMs: 4, bytes: 524_288, busyBytes: 131_072, busyMs: 500, chunkBytes: 1_024 };
const discarding = { bytesLeft: rateLimit.bytes, isTicking: false, paused: new RoundRobinQueue<PausedRequest>() };

interface PausedRequest {
  request: IncomingMessage;
  cost: number;
}

const load = watchLoop();
let busyAt = Number.NEGATIVE_INFINITY;

/** Fast while the loop is idle. After a busy moment it stays slow for 500 ms: reading much would only make the loop busy again. */
function bytesPerInterval(): number {
  const now = performance.now();
  if (load.isBusy()) busyAt = now;
  return now - busyAt < rateLimit.busyMs ? rateLimit.busyBytes : rateLimit.bytes;
}

/** Stops reading once the budget of this interval is used up, until the next interval. */
function throttle(request: IncomingMessage, length: number, sender: string): void {
  const cost = length + rateLimit.chunkBytes;
  discarding.bytesLeft -= cost;
  if (!discarding.isTicking) setTimeout(resumePaused, rateLimit.intervalMs).unref();
  discarding.isTicking = true;
  if (discarding.bytesLeft > 0) return;
  discarding.paused.push(sender, { request: request.pause(), cost });
}

/** Resumes as many requests as the budget allows if each brings as much as before; senders in turn. */
function resumePaused(): void {
  const { paused } = discarding;
  discarding.bytesLeft = bytesPerInterval();
  discarding.isTicking = paused.size > 0;
  let room = discarding.bytesLeft;
  for (let next = paused.next(); next; next = room > 0 ? paused.next() : undefined) {
    if (next.request.destroyed) continue;
    room -= next.cost;
    next.request.resume();
  }
  if (discarding.isTicking) setTimeout(resumePaused, rateLimit.intervalMs).unref();
}
