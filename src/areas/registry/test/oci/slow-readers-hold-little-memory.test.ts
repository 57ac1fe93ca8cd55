import assert from 'node:assert/strict';
import type fs from 'node:fs';
import { mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { test } from 'node:test';
import { makeLoopWatch, runFor } from '../../../../kernel/fairness/index.ts';
import { CallerGone } from '../../../../kernel/http/plane.ts';
import { readFairly } from '../../../../kernel/storage/index.ts';
import { bufferLimits, makeBuffers, sendStream } from '../../planes/oci/send.ts';
import { someBytes } from '../registry-server.ts';

const KiB = 1024;
const MiB = 1024 * KiB;

/** A client that reads at once, and after `stall` reads nothing until it is released. */
function makeReader(stall = Number.POSITIVE_INFINITY) {
  const taken: Buffer[] = [];
  let bytes = 0;
  let largest = 0;
  const resumed = Promise.withResolvers<void>();
  const stalled = Promise.withResolvers<void>();
  const response = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      taken.push(Buffer.from(chunk));
      bytes += chunk.length;
      largest = Math.max(largest, chunk.length);
      if (bytes < stall) return void done();
      stalled.resolve();
      void resumed.promise.then(() => done());
    },
  });
  return {
    response: response as unknown as ServerResponse,
    taken,
    largest: () => largest,
    stalled: stalled.promise,
    resume: resumed.resolve,
  };
}

const watch = makeLoopWatch();

test('slow readers hold little memory, and those of one organization leave large buffers to the others', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'qdb-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  const content = someBytes(6 * MiB + 123);
  await writeFile(join(dir, 'blob'), content);
  const stream = async () => (await open(join(dir, 'blob'))).createReadStream() as unknown as fs.ReadStream;
  const buffers = makeBuffers();

  const slow = Array.from({ length: 2 * (bufferLimits.organizationBytes / bufferLimits.largeBytes) }, () => makeReader(3 * MiB));
  const transfers = [];
  for (const { response } of slow)
    transfers.push(sendStream(await stream(), content.length, { response, org: 'org_slow', buffers, watch }));
  await Promise.all(slow.map((reader) => reader.stalled));
  assert.ok(buffers.lent() <= bufferLimits.organizationBytes, `${buffers.lent()} bytes are lent`);
  const few = slow.filter((reader) => reader.largest() > bufferLimits.smallBytes).length;
  assert.ok(few > 0 && few <= bufferLimits.organizationBytes / bufferLimits.largeBytes, `${few} of them have a large buffer`);

  const quick = makeReader();
  await sendStream(await stream(), content.length, { response: quick.response, org: 'org_quick', buffers, watch });
  assert.equal(quick.largest(), bufferLimits.largeBytes);
  assert.ok(Buffer.concat(quick.taken).equals(content));

  // A client that leaves returns its buffers, and all clients do at the end.
  slow[0]!.response.destroy();
  await assert.rejects(transfers[0]!);
  for (const reader of slow) reader.resume();
  await Promise.allSettled(transfers);
  for (const reader of slow.slice(1)) assert.ok(Buffer.concat(reader.taken).equals(content));
  assert.equal(buffers.lent(), 0);
});

test('a slow reader of the spool, of S3 or of a pass-through holds no more', async () => {
  const content = someBytes(6 * MiB + 123);
  let read = 0;
  const chunks = function* () {
    for (; read < content.length; read += 256 * KiB) yield content.subarray(read, read + 256 * KiB);
  };
  const slow = makeReader(1 * MiB);
  const reader = { response: slow.response, org: 'org_slow', buffers: makeBuffers(), watch };
  const transfer = sendStream(Readable.from(chunks(), { objectMode: false }), content.length, reader);
  await slow.stalled;
  assert.equal(slow.largest(), bufferLimits.smallBytes);
  assert.ok(read <= 1 * MiB + 3 * 256 * KiB, `${read} bytes were read`);
  slow.resume();
  await transfer;
  assert.ok(Buffer.concat(slow.taken).equals(content));

  const gone = makeReader(1 * MiB);
  read = 0;
  const left = sendStream(Readable.from(chunks(), { objectMode: false }), content.length, { ...reader, response: gone.response });
  await gone.stalled;
  gone.response.destroy();
  await assert.rejects(left);
});

test('nothing is read for a client that left while it waited', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'qdb-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  await writeFile(join(dir, 'blob'), someBytes(MiB));
  const turns = Promise.withResolvers<void>();
  const gone = makeReader();
  const file = (await open(join(dir, 'blob'))).createReadStream() as unknown as fs.ReadStream;
  const [held, transfer] = runFor({ org: 'org_gone', operation: 'pull' }, () => [
    Array.from({ length: 4 }, () => readFairly(() => turns.promise)),
    sendStream(file, MiB, { response: gone.response, org: 'org_gone', buffers: makeBuffers(), watch }),
  ]);
  const left = assert.rejects(transfer, CallerGone);
  gone.response.destroy();
  turns.resolve();
  await Promise.all(held);
  await left;
  assert.deepEqual(gone.taken, []);
});
