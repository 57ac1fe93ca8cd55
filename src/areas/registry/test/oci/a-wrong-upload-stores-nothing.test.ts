import assert from 'node:assert/strict';
import http from 'node:http';
import { test } from 'node:test';
import Type from 'typebox';
import { row } from '../../../../kernel/db/index.ts';
import { codeOf, digestOf, registryServer, someBytes } from '../registry-server.ts';

const name = 'acme/app';

test('a wrong upload gets the right error, and nothing is stored', async (t) => {
  const { send, app, url } = await registryServer(t);
  const start = async () => (await send('POST', `/v2/${name}/blobs/uploads/`)).headers.location!;
  const bytes = someBytes(2000);

  await t.test('another digest than the content has', async () => {
    for (const digest of [digestOf(someBytes(1)), digestOf(someBytes(1), 'sha512')]) {
      const location = await start();
      const done = await send('PUT', `${location}?digest=${digest}`, { body: bytes });
      assert.deepEqual([done.status, codeOf(done)], [400, 'DIGEST_INVALID']);
      assert.equal((await send('GET', location)).status, 404, 'what is wrong is not kept');
      assert.equal((await send('HEAD', `/v2/${name}/blobs/${digest}`)).status, 404);
      const single = await send('POST', `/v2/${name}/blobs/uploads/?digest=${digest}`, { body: bytes });
      assert.deepEqual([single.status, codeOf(single)], [400, 'DIGEST_INVALID']);
    }
  });

  await t.test('what is no digest', async () => {
    for (const digest of [
      'sha256:totallywrong',
      'md5:d41d8cd98f00b204e9800998ecf8427e',
      digestOf(bytes).toUpperCase(),
      'sha256:',
      '..%2F..%2Fetc',
      `${digestOf(bytes)}00`,
    ]) {
      const done = await send('PUT', `${await start()}?digest=${digest}`, { body: bytes });
      assert.deepEqual([done.status, codeOf(done)], [400, 'DIGEST_INVALID'], digest);
      const single = await send('POST', `/v2/${name}/blobs/uploads/?digest=${digest}`, { body: bytes });
      assert.equal(codeOf(single), 'DIGEST_INVALID', digest);
      const got = await send('GET', `/v2/${name}/blobs/${digest}`);
      assert.ok(got.status === 400 || got.status === 404, `${digest}: ${got.status}`);
    }
    assert.equal((await send('PUT', await start(), { body: bytes })).status, 400, 'no digest at all');
  });

  await t.test('chunks out of order', async () => {
    const location = await start();
    const chunk = (from: number, to: number) => ({ body: bytes.subarray(from, to), headers: { 'Content-Range': `${from}-${to - 1}` } });
    assert.equal((await send('PATCH', location, chunk(500, 1000))).status, 416);
    assert.equal((await send('PATCH', location, chunk(0, 500))).status, 202);
    const again = await send('PATCH', location, chunk(0, 500));
    assert.deepEqual([again.status, again.headers.range], [416, '0-499']);
    const last = await send('PUT', `${location}?digest=${digestOf(bytes)}`, chunk(1000, 2000));
    assert.deepEqual([last.status, codeOf(last)], [416, 'BLOB_UPLOAD_INVALID']);
    assert.equal(
      (await send('PATCH', location, { body: bytes.subarray(500, 600), headers: { 'Content-Range': '500-998' } })).status,
      400,
      'Content-Length says otherwise',
    );
    assert.equal(
      (await send('PATCH', location, { body: bytes.subarray(500, 600), headers: { 'Content-Range': 'all of it' } })).status,
      416,
    );
    assert.equal(
      (await send('PUT', `${location}?digest=${digestOf(bytes)}`, chunk(500, 2000))).status,
      201,
      'and the right one still goes through',
    );
  });

  await t.test('a body that ends before its Content-Length is kept as far as it came', async () => {
    const location = await start();
    const request = http.request(new URL(location, url), {
      method: 'PATCH',
      headers: { Authorization: 'Bearer alice', 'Content-Length': 2000 },
    });
    const { append } = app.storage;
    async function* cutAfterFirst(body: AsyncIterable<Uint8Array>) {
      for await (const chunk of body) {
        yield chunk;
        request.destroy();
      }
    }
    app.storage.append = (id, offset, body, options) => append(id, offset, cutAfterFirst(body as AsyncIterable<Uint8Array>), options);
    await new Promise<void>((resolve) => {
      request.on('error', () => resolve());
      request.write(bytes.subarray(0, 700));
    });
    app.storage.append = append;
    let status = await send('GET', location);
    for (let i = 0; i < 100 && status.headers.range !== '0-699'; i++) status = await send('GET', location);
    assert.equal(status.headers.range, '0-699');
    assert.equal((await send('PUT', `${location}?digest=${digestOf(bytes)}`, { body: bytes.subarray(700) })).status, 201);
  });

  await t.test('an upload of another repository, or an unknown one', async () => {
    const location = await start();
    assert.equal((await send('GET', location.replace('acme/app', 'acme/other'))).status, 404);
    for (const id of ['00000000-0000-4000-8000-000000000000', 'nonsense', '..%2f..%2fsecret.key']) {
      const answer = await send('PATCH', `/v2/${name}/blobs/uploads/${id}`, { body: bytes });
      assert.deepEqual([answer.status, codeOf(answer)], [404, 'BLOB_UPLOAD_UNKNOWN']);
    }
  });

  await t.test('bytes that come in parallel, after the content was hashed and before it is stored', async () => {
    const [location, content] = [await start(), someBytes(3000)];
    const digest = digestOf(content);
    const { commit } = app.storage;
    const late: number[] = [];
    app.storage.commit = async (...args) => {
      app.storage.commit = commit;
      late.push((await send('PATCH', location, { body: Buffer.from('junk') })).status);
      return commit(...args);
    };
    const done = await send('PUT', `${location}?digest=${digest}`, { body: content });
    assert.deepEqual([late, done.status], [[409], 201], 'only one request writes while it is finished');
    assert.ok((await send('GET', `/v2/${name}/blobs/${digest}`)).body.equals(content));
  });

  const stored = await Array.fromAsync(app.storage.list('sha256/'));
  const known = await app.db.read((tx) => row(tx, Type.Object({ n: Type.Integer() }))`select count(*) as n from registry.blob`);
  assert.deepEqual([stored.length, known!.n], [2, 2], 'only the two good blobs are there');
});
