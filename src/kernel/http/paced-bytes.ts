import { Readable } from 'node:stream';
import { watchLoop } from '../fairness/index.ts';

// The kernel copies an answer into the socket's buffer within the call that writes it. Sixty scripts of megabytes at once hold the event loop
// for 100 ms, also in pieces if each connection sends one in every turn. So all large answers share one pace, and connections take turns.

const pace = { pieceBytes: 65_536, everyMs: 4, pieces: 8, busyPieces: 1, busyMs: 500 };

/** Pieces that connections are ready for, oldest first. A connection waits with one at most. */
const waiting: (() => void)[] = [];
const load = watchLoop();
let isTicking = false;
let busyAt = Number.NEGATIVE_INFINITY;

/** Once the loop was busy the pace stays slow for a while: to send much would only make it busy again. */
function piecesNow(): number {
  const now = performance.now();
  if (load.isBusy()) busyAt = now;
  return now - busyAt < pace.busyMs ? pace.busyPieces : pace.pieces;
}

function tick(): void {
  for (const send of waiting.splice(0, piecesNow())) send();
  isTicking = waiting.length > 0;
  if (isTicking) setTimeout(tick, pace.everyMs).unref();
}

function takeTurn(send: () => void): void {
  waiting.push(send);
  if (isTicking) return;
  isTicking = true;
  setTimeout(tick, 0).unref();
}

/** A stream of bytes that belong to all connections alike: 128 MB/s for all of them, and 16 MB/s while the loop is busy. */
export function pacedBytes(bytes: Buffer): Readable {
  let at = 0;
  return new Readable({
    highWaterMark: 1, // asked for the next piece only once the last one is on its way
    read() {
      takeTurn(() => {
        if (this.destroyed) return;
        const piece = bytes.subarray(at, at + pace.pieceBytes);
        at += piece.length;
        if (piece.length > 0) this.push(piece);
        if (at >= bytes.length) this.push(null);
      });
    },
  });
}
