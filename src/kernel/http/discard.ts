import type { IncomingMessage } from 'node:http';
import { currentContext, watchLoop } from '../fairness/index.ts';
import { guarded } from '../faults/guarded.ts';

/** Whether one was announced. */
export const hasBody = ({ headers: { 'content-length': length = '0', 'transfer-encoding': encoding } }: IncomingMessage): boolean =>
  length !== '0' || encoding !== undefined;

const discarded = new WeakSet<IncomingMessage>();
const linger = { maxBytes: 67_108_864, ms: 5_000 };

/** Whoever is cut off while still sending never reads why (RFC 9112, 9.6): so the rest is read and thrown away, within bounds. */
export function discard(request: IncomingMessage) {
  if (request.complete || discarded.has(request) || !hasBody(request)) return;
  discarded.add(request);
  // Who is refused very often shares its turns with itself. Whoever it says it is was not checked: so it is its address, or who it is known to be.
  const sender = currentContext().org;
  let left = linger.maxBytes;
  const timer = setTimeout(() => request.destroy(), linger.ms).unref();
  request.once('close', () => clearTimeout(timer));
  request.on(
    'data',
    guarded('http.discard.data', request, (chunk: Buffer) => {
      left -= chunk.length;
      if (left < 0) request.destroy();
      else keepPace(request, chunk.length, sender);
    }),
  );
  request.resume(); // somebody may have stopped reading it in the middle
}

/**
 * What nobody wants is read at this pace, all of it together: it costs as much as what somebody does want. A chunk costs some beside its own
 * bytes; so whoever sends few holds up nobody who sends many and waits for the reason.
 */
const pace = { everyMs: 4, bytes: 524_288, busyBytes: 131_072, busyMs: 500, chunkBytes: 1_024 };
const unwanted = { left: pace.bytes, isCounting: false, waiting: new Map<string, Waiting[]>() };

interface Waiting {
  request: IncomingMessage;
  cost: number;
}

const load = watchLoop();
let busyAt = Number.NEGATIVE_INFINITY;

/** Much while there is little else to do. Once it was busy it stays at little for a while: to read much would only make it busy again. */
function paceNow(): number {
  const now = performance.now();
  if (load.isBusy()) busyAt = now;
  return now - busyAt < pace.busyMs ? pace.busyBytes : pace.bytes;
}

/** Stops reading once there was as much as the pace allows, until the next turn comes. */
function keepPace(request: IncomingMessage, length: number, sender: string): void {
  const cost = length + pace.chunkBytes;
  unwanted.left -= cost;
  if (!unwanted.isCounting) setTimeout(readOn, pace.everyMs).unref();
  unwanted.isCounting = true;
  if (unwanted.left > 0) return;
  const waiting = unwanted.waiting.get(sender);
  const next = { request: request.pause(), cost };
  if (waiting) waiting.push(next);
  else unwanted.waiting.set(sender, [next]);
}

/** As many go on as have room if each brings what it brought before; senders in turn. */
function readOn(): void {
  const { waiting } = unwanted;
  unwanted.left = paceNow();
  unwanted.isCounting = waiting.size > 0;
  let room = unwanted.left;
  for (const [sender, theirs] of waiting) {
    if (room <= 0) break;
    waiting.delete(sender);
    let next = theirs.shift();
    while (next?.request.destroyed) next = theirs.shift();
    if (theirs.length > 0) waiting.set(sender, theirs); // visited once more in this walk, after all the others
    if (!next) continue;
    room -= next.cost;
    next.request.resume();
  }
  if (unwanted.isCounting) setTimeout(readOn, pace.everyMs).unref();
}
