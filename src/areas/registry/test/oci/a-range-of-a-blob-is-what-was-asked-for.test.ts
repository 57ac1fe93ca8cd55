import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { chunkOf, rangeOf } from '../../rules/range.ts';
import { pushBlob, registryServer, someBytes } from '../registry-server.ts';

test('a range of a blob is what was asked for', async (t) => {
  const { send } = await registryServer(t);
  for (const size of [2500, 3_000_000]) {
    const bytes = someBytes(size);
    const path = `/v2/acme/app/blobs/${await pushBlob(send, 'acme/app', bytes)}`;
    const ask = (range: string) => send('GET', path, { headers: { Range: range } });

    for (const [range, from, to] of [
      ['bytes=0-0', 0, 1],
      ['bytes=100-1999', 100, 2000],
      ['bytes=2000-5000000', 2000, size],
      ['bytes=2000-', 2000, size],
      ['bytes=-10', size - 10, size],
    ] as const) {
      const got = await ask(range);
      assert.equal(got.status, 206, range);
      assert.equal(got.headers['content-range'], `bytes ${from}-${to - 1}/${size}`);
      assert.ok(got.body.equals(bytes.subarray(from, to)), range);
    }
    for (const range of ['bytes=500-0', `bytes=${size}-${size + 10}`, 'bytes=-0']) {
      const got = await ask(range);
      assert.deepEqual([got.status, got.headers['content-range']], [416, `bytes */${size}`], range);
    }
    for (const range of ['bytes=0-1,3-4', 'lines=1-2', 'bytes=-', 'nonsense']) {
      const got = await ask(range);
      assert.equal(got.status, 200, range);
      assert.ok(got.body.equals(bytes));
    }
    assert.equal((await send('GET', path)).headers['accept-ranges'], 'bytes');
  }
});

test('a satisfiable range lies within the content', () => {
  const number = fc.option(fc.nat(5000), { nil: undefined });
  fc.assert(
    fc.property(number, number, fc.nat(3000), (first, last, size) => {
      const range = rangeOf(`bytes=${first ?? ''}-${last ?? ''}`, size);
      if (first === undefined && last === undefined) return range === undefined;
      if (range === 'unsatisfiable')
        return size === 0 || (first === undefined ? last === 0 : first >= size || (last !== undefined && last < first));
      return (
        range !== undefined && range.length > 0 && range.offset + range.length <= size && (first === undefined || range.offset === first)
      );
    }),
  );
});

test('a chunk is read as registries and as RFC 9110 write it', () => {
  assert.deepEqual(chunkOf('5-9'), { offset: 5, length: 5 });
  assert.deepEqual(chunkOf('bytes 5-9/10'), { offset: 5, length: 5 });
  assert.equal(chunkOf(undefined), undefined);
  for (const wrong of ['9-5', '-5', '5-', '', 'a-b', '1-2-3']) assert.equal(chunkOf(wrong), 'malformed', wrong);
});
