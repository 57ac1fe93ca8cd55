import assert from 'node:assert/strict';
import { test } from 'node:test';
import { digestOf, registryServer, type Send, someBytes } from '../registry-server.ts';

const name = 'acme/app';
const start = async (send: Send, query = '') => {
  const answer = await send('POST', `/v2/${name}/blobs/uploads/${query}`);
  assert.equal(answer.status, 202, answer.body.toString());
  assert.equal(answer.headers.range, '0-0');
  assert.ok(answer.headers['docker-upload-uuid']);
  return answer.headers.location!;
};

test('a blob is pushed in every way that the specification has', async (t) => {
  const { send } = await registryServer(t);
  const isThere = async (bytes: Buffer, digest = digestOf(bytes)) => {
    const got = await send('GET', `/v2/${name}/blobs/${digest}`);
    assert.equal(got.status, 200);
    assert.deepEqual(got.body, bytes);
    assert.equal(got.headers['docker-content-digest'], digest);
    assert.equal(got.headers['content-type'], 'application/octet-stream');
    assert.equal(got.headers['x-content-type-options'], 'nosniff');
  };

  await t.test('POST, then PUT', async () => {
    const bytes = someBytes(5000);
    const done = await send('PUT', `${await start(send)}?digest=${digestOf(bytes)}`, { body: bytes });
    assert.equal(done.status, 201);
    assert.equal(done.headers.location, `/v2/${name}/blobs/${digestOf(bytes)}`);
    await isThere(bytes);
  });

  await t.test('a single POST, by either algorithm', async () => {
    for (const algorithm of ['sha256', 'sha512']) {
      const bytes = someBytes(5000);
      const digest = digestOf(bytes, algorithm);
      const done = await send('POST', `/v2/${name}/blobs/uploads/?digest=${digest}`, { body: bytes });
      assert.equal(done.status, 201, done.body.toString());
      await isThere(bytes, digest);
    }
  });

  await t.test('chunks with Content-Range, asked for in between', async () => {
    const bytes = someBytes(3000);
    let location = await start(send);
    for (const [from, to] of [
      [0, 1000],
      [1000, 2500],
    ] as const) {
      const chunk = await send('PATCH', location, {
        body: bytes.subarray(from, to),
        headers: { 'Content-Range': `${from}-${to - 1}`, 'Content-Type': 'application/octet-stream' },
      });
      assert.equal(chunk.status, 202, chunk.body.toString());
      assert.equal(chunk.headers.range, `0-${to - 1}`);
      location = chunk.headers.location!;
      const status = await send('GET', location);
      assert.equal(status.status, 204);
      assert.equal(status.headers.range, `0-${to - 1}`);
    }
    const done = await send('PUT', `${location}?digest=${digestOf(bytes)}`, {
      body: bytes.subarray(2500),
      headers: { 'Content-Range': '2500-2999' },
    });
    assert.equal(done.status, 201, done.body.toString());
    await isThere(bytes);
  });

  await t.test('a stream of unknown length, then an empty PUT', async () => {
    const bytes = someBytes(3_000_000);
    const pieces = (async function* () {
      for (let at = 0; at < bytes.length; at += 70_001) yield bytes.subarray(at, at + 70_001);
    })();
    const streamed = await send('PATCH', await start(send), { body: pieces });
    assert.equal(streamed.status, 202);
    assert.equal(streamed.headers.range, `0-${bytes.length - 1}`);
    assert.equal((await send('PUT', `${streamed.headers.location}?digest=${digestOf(bytes)}`)).status, 201);
    await isThere(bytes);
  });

  await t.test('chunks hashed by sha512, announced or not', async () => {
    for (const query of ['', '?digest-algorithm=sha512']) {
      const bytes = someBytes(3000);
      const patched = await send('PATCH', await start(send, query), { body: bytes.subarray(0, 1000) });
      const digest = digestOf(bytes, 'sha512');
      const done = await send('PUT', `${patched.headers.location}?digest=${digest}`, { body: bytes.subarray(1000) });
      assert.equal(done.status, 201, done.body.toString());
      await isThere(bytes, digest);
    }
  });

  await t.test('nothing at all is a blob, too', async () => {
    const digest = digestOf(Buffer.alloc(0));
    assert.equal((await send('PUT', `${await start(send)}?digest=${digest}`)).status, 201);
    await isThere(Buffer.alloc(0));
  });

  await t.test('an upload that is cancelled is gone', async () => {
    const location = await start(send);
    await send('PATCH', location, { body: someBytes(10) });
    assert.equal((await send('DELETE', location)).status, 204);
    for (const method of ['GET', 'PATCH', 'DELETE']) assert.equal((await send(method, location)).status, 404);
  });
});
