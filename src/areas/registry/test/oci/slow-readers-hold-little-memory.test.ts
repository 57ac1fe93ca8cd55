import assert from 'node:assert/strict';
import type fs from 'node:fs';
import { mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { test } from 'node:test';
import { bufferBounds, makeBuffers, sendStream } from '../../planes/oci/send.ts';
import { someBytes } from '../registry-server.ts';

const MiB = 1024 * 1024;

/** Somebody who takes bytes at once, and from `stall` on takes nothing more until they are let go. */
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

test('slow readers hold little memory, and those of one organization leave large buffers to the others', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'qdb-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  const content = someBytes(6 * MiB + 123);
  await writeFile(join(dir, 'blob'), content);
  const stream = async () => (await open(join(dir, 'blob'))).createReadStream() as unknown as fs.ReadStream;
  const buffers = makeBuffers();

  const slow = Array.from({ length: 100 }, () => makeReader(3 * MiB));
  const transfers = [];
  for (const { response } of slow) transfers.push(sendStream(await stream(), content.length, { response, org: 'org_slow', buffers }));
  await Promise.all(slow.map((reader) => reader.stalled));
  assert.ok(buffers.lent() <= bufferBounds.organization, `${buffers.lent()} bytes are lent`);
  const few = slow.filter((reader) => reader.largest() > bufferBounds.small).length;
  assert.ok(few > 0 && few <= bufferBounds.organization / bufferBounds.large, `${few} of them have a large buffer`);

  const quick = makeReader();
  await sendStream(await stream(), content.length, { response: quick.response, org: 'org_quick', buffers });
  assert.equal(quick.largest(), bufferBounds.large);
  assert.ok(Buffer.concat(quick.taken).equals(content));

  // One that leaves gives back what it held, and so does everybody at the end.
  slow[0]!.response.destroy();
  await assert.rejects(transfers[0]!);
  for (const reader of slow) reader.resume();
  await Promise.allSettled(transfers);
  for (const reader of slow.slice(1)) assert.ok(Buffer.concat(reader.taken).equals(content));
  assert.equal(buffers.lent(), 0);
});
