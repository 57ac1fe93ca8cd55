import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { mock, type TestContext, test } from 'node:test';
import { runFor } from '../../fairness/index.ts';
import { discard } from '../discard.ts';

/** A request whose body comes in chunks of this size, one every so often, or whenever it is read. */
function sending(chunkBytes: number, bytes: number, everyMs = 0): { request: IncomingMessage; left(): number } {
  let left = bytes;
  const body = new Readable({
    read() {
      const come = () => {
        left -= chunkBytes;
        this.push(left > 0 ? Buffer.alloc(chunkBytes) : null);
      };
      if (everyMs > 0) setTimeout(come, everyMs);
      else setImmediate(come);
    },
    highWaterMark: 1,
  });
  const request = Object.assign(body, {
    headers: { 'content-length': String(bytes), authorization: `Bearer ${randomUUID()}` }, // whatever they say
    complete: false,
  }) as unknown as IncomingMessage;
  return { request, left: () => left };
}

/** The rate limit is one for the process: it must be idle before the real clock is restored. */
function moveTimers(t: TestContext): void {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.after(async () => {
    for (let i = 0; i < 20; i++) {
      mock.timers.tick(4);
      await turn();
    }
    mock.timers.reset();
  });
}

const turn = () => new Promise((resolve) => setImmediate(resolve));
const lingerMs = 5_000;

/** How long it takes, by the clock of the rate limit, until all of it was read. */
async function msUntilRead(body: { left(): number }): Promise<number> {
  for (let ms = 0; ms < lingerMs; ms++) {
    for (let i = 0; i < 4; i++) await turn();
    if (body.left() <= 0) return ms;
    mock.timers.tick(1);
  }
  return Number.POSITIVE_INFINITY;
}

test('a slow sender of a refused body delays no refusal of others, nor does a sender that left', async (t) => {
  moveTimers(t);
  const drips = Array.from({ length: 2_000 }, (_, i) => sending(1, 1_000_000, 90 + (i % 23)).request);
  const honest = sending(65_536, 10 * 2 ** 20);
  for (const request of [...drips, honest.request]) discard(request);
  assert.ok((await msUntilRead(honest)) < lingerMs, 'ten megabytes beside two thousand who drip');
  for (const request of drips) request.destroy();

  const gone = Array.from({ length: 4_000 }, () => sending(65_536, 2 ** 20).request);
  for (const request of gone) discard(request);
  for (let i = 0; i < 10; i++) await turn();
  for (const request of gone) request.destroy();
  const later = sending(65_536, 10 * 2 ** 20);
  discard(later.request);
  assert.ok((await msUntilRead(later)) < lingerMs / 2, 'ten megabytes after four thousand who left');
});

test('a sender that is refused very often shares turns with itself: another gets its refusal soon', async (t) => {
  moveTimers(t);
  const often = Array.from({ length: 300 }, () => sending(65_536, 60 * 2 ** 20).request);
  const refuse = (from: string, request: IncomingMessage) => runFor({ org: `from ${from}`, operation: 'http' }, () => discard(request));
  for (const request of often) refuse('192.0.2.1', request);
  for (let i = 0; i < 10; i++) await turn();
  const other = sending(65_536, 5 * 2 ** 20);
  refuse('192.0.2.2', other.request);
  assert.ok((await msUntilRead(other)) < lingerMs / 2, 'five megabytes beside three hundred of one sender');
  for (const request of often) request.destroy();
});
