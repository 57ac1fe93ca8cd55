import { Readable } from 'node:stream';
import { currentContext, RoundRobinQueue, watchLoop } from '../fairness/index.ts';

// The kernel copies a response into the socket's buffer within the call that writes it. Sixty scripts of megabytes at once hold the event
// loop for 100 ms, also in pieces if each connection sends one in every turn. So all large responses share one rate. Organizations and
// addresses take turns, whatever number of connections each has.

const rateLimit = { pieceBytes: 65_536, intervalMs: 4, pieces: 8, busyPieces: 1, busyMs: 500 };

/** A response that is ready for its next piece. */
interface ReadyResponse {
  isClosed(): boolean;
  send(): void;
}

/** At most one entry for each connection. */
const waiting = new RoundRobinQueue<ReadyResponse>();
const load = watchLoop();
let isTicking = false;
let busyAt = Number.NEGATIVE_INFINITY;

/** After a busy moment the rate stays low for a while: sending much would only make the loop busy again. */
function piecesPerInterval(): number {
  const now = performance.now();
  if (load.isBusy()) busyAt = now;
  return now - busyAt < rateLimit.busyMs ? rateLimit.busyPieces : rateLimit.pieces;
}

function tick(): void {
  let left = piecesPerInterval();
  for (let next = waiting.next(); next; next = left > 0 ? waiting.next() : undefined) {
    if (next.isClosed()) continue; // the peer left, and takes no turn
    left--;
    next.send();
  }
  isTicking = waiting.size > 0;
  if (isTicking) setTimeout(tick, rateLimit.intervalMs).unref();
}

function enqueue(peer: string, response: ReadyResponse): void {
  waiting.push(peer, response);
  if (isTicking) return;
  isTicking = true;
  setTimeout(tick, 0).unref();
}

/** A stream of the same bytes for all connections: 128 MB/s in total, and 16 MB/s while the loop is busy. It counts for the caller. */
export function pacedBytes(bytes: Buffer): Readable {
  const peer = currentContext().org;
  let at = 0;
  return new Readable({
    highWaterMark: 1, // requests the next piece only once the last one is being sent
    read() {
      enqueue(peer, {
        isClosed: () => this.destroyed,
        send: () => {
          const piece = bytes.subarray(at, at + rateLimit.pieceBytes);
          at += piece.length;
          if (piece.length > 0) this.push(piece);
          if (at >= bytes.length) this.push(null);
        },
      });
    },
  });
}
