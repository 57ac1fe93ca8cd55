import assert from 'node:assert/strict';
import { test } from 'node:test';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { demo } from '../demo.ts';
import { house, incident, outputs, page, publish, read, readAll, service, shows } from '../support.ts';

const bytes = async (url: string, headers: Record<string, string>, method = 'GET') => {
  const { request } = await import('node:http');
  return new Promise<{ status: number; headers: Record<string, string>; body: Buffer }>((resolve, reject) => {
    const asked = request(url, { method, headers }, (answer) => {
      const parts: Buffer[] = [];
      answer
        .on('data', (part) => parts.push(part))
        .on('end', () =>
          resolve({ status: answer.statusCode!, headers: answer.headers as Record<string, string>, body: Buffer.concat(parts) }),
        );
    });
    asked.on('error', reject).end();
  });
};

/** Whatever is answered names its request, and is nothing else than what it says it is. */
function framed(headers: Awaited<ReturnType<typeof bytes>>['headers']) {
  assert.match(String(headers['x-request-id']), /^[\w-]{8,}$/);
  assert.equal(headers['x-content-type-options'], 'nosniff');
  assert.equal(headers['referrer-policy'], 'no-referrer');
}

test('every output comes in the coding that is asked for, and not again while it is the same', async (t) => {
  const qd = await house(t);
  await demo(qd, 'acme', {}, { still: true });
  for (const name of outputs) {
    const url = `${qd.url}/status/acme${name}`;
    const plain = await bytes(url, {});
    assert.equal(plain.status, 200);
    assert.equal(plain.headers['content-encoding'], undefined);
    assert.equal(Number(plain.headers['content-length']), plain.body.length);
    assert.match(plain.headers['cache-control']!, /public, max-age=\d+/);
    framed(plain.headers);
    const gzip = await bytes(url, { 'accept-encoding': 'gzip' });
    const br = await bytes(url, { 'accept-encoding': 'gzip, deflate, br, zstd' });
    if (plain.body.length > 1_000) {
      assert.ok(gunzipSync(gzip.body).equals(plain.body), name);
      assert.ok(brotliDecompressSync(br.body).equals(plain.body), name);
      assert.equal(br.headers.vary, 'Accept-Encoding');
      assert.notEqual(br.headers.etag, plain.headers.etag);
    }
    assert.equal((await bytes(url, { 'accept-encoding': 'br;q=0, gzip;q=0' })).headers['content-encoding'], undefined);
    for (const tag of [br.headers.etag!, `W/${plain.headers.etag}`, `"other", ${gzip.headers.etag}`, '*']) {
      const same = await bytes(url, { 'if-none-match': tag, 'accept-encoding': 'br' });
      assert.equal(same.status, 304, `${name} ${tag}`);
      assert.equal(same.body.length, 0);
      framed(same.headers);
    }
    assert.equal((await bytes(url, { 'if-none-match': '"other"' })).status, 200);
    const head = await bytes(url, {}, 'HEAD');
    assert.equal(head.headers['content-length'], plain.headers['content-length']);
    assert.equal(head.body.length, 0);
    const wrong = await bytes(url, {}, 'DELETE');
    assert.equal(wrong.status, 405);
    assert.equal(wrong.headers.allow, 'GET, HEAD');
    framed(wrong.headers);
  }
  const slash = await fetch(`${qd.url}/status/acme/`, { redirect: 'manual' });
  assert.equal(slash.status, 308);
  framed(Object.fromEntries(slash.headers));
  assert.equal((await fetch(`${qd.url}/status/acme/`)).url, `${qd.url}/status/acme`);
});

test('while nothing changes readers cost no statement, and a reading that finds nothing new renders nothing', async (t) => {
  const qd = await house(t, { env: { QUARTERDECK_ROLES: 'api' } });
  await demo(qd, 'acme', {}, { still: true });
  const first = await shows(qd.url, 'acme', (text) => text.includes('most succeed again'));
  let asked = 0;
  qd.app.db.pool.on('acquire', () => asked++);
  for (const name of outputs) await read(`${qd.url}/status/acme${name}`);
  assert.equal(asked, 0);
  qd.app.caches.dropAll();
  const again = await read(`${qd.url}/status/acme`);
  assert.ok(asked > 0);
  assert.equal(again.headers.get('etag'), first.headers.get('etag'));
});

test('every server sends the same bytes, also after a restart', async (t) => {
  const env = { QUARTERDECK_PUBLIC_URL: 'https://quarterdeck.example.com' };
  const one = await house(t, { env });
  const web = await service(one.owner, 'Web');
  await page(one.owner, 'acme', [web.id]);
  await publish(one.owner, await incident(one.owner, web.id, 'Slow'), 'We are looking.');
  await shows(one.url, 'acme', (text) => text.includes('We are looking.'));
  const before = await readAll(one.url, 'acme');
  const two = await quarterdeck(t, {
    connection: one.connection,
    dataDir: one.dataDir,
    env: { ...env, QUARTERDECK_SMTP_RELAY: one.smtp.url },
  });
  const after = await readAll(two.url, 'acme');
  for (const name of outputs) {
    assert.equal(after.get(name)!.text, before.get(name)!.text, name);
    assert.equal(after.get(name)!.headers.get('etag'), before.get(name)!.headers.get('etag'), name);
  }
});
