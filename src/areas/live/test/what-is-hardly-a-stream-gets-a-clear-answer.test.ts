import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { test } from 'node:test';
import { quarterdeck } from '../../../../test/harness/index.ts';
import { signedIn } from '../../../../test/harness/visitor.ts';
import { bearer, listens } from './support.ts';

test('an organization that is foreign, unknown or no slug at all is refused before anything is heard', async (t) => {
  const qd = await quarterdeck(t);
  await qd.organization('other');
  const browser = await signedIn(qd, qd.owner.userId);
  const session = { cookie: browser.cookie(), 'sec-fetch-site': 'same-origin' };
  for (const slug of ['other', 'nowhere', '../default', 'default, other', `${'x'.repeat(5_000)}`]) {
    for (const [who, headers] of Object.entries({ session, token: bearer(qd.owner) })) {
      const { status, headers: told } = await listens(t, qd.url, { ...headers, 'x-organization': slug });
      assert.deepEqual([status, told['x-error-code']], [403, 'organization_mismatch'], `${who} ${slug.slice(0, 20)}`);
    }
  }
  const foreignPage = await listens(t, qd.url, { ...session, 'sec-fetch-site': 'cross-site' });
  assert.equal(foreignPage.status, 401);
  assert.equal((await listens(t, qd.url, {})).status, 401);
});

test('HEAD gets the head alone, and HTTP/1.0 a stream that ends with the connection', async (t) => {
  const qd = await quarterdeck(t);
  const head = await fetch(`${qd.url}/api/v1/events`, { method: 'HEAD', headers: bearer(qd.owner) });
  assert.deepEqual([head.status, head.headers.get('content-type'), await head.text()], [200, 'text/event-stream', '']);

  const { hostname, port } = new URL(qd.url);
  const socket = net.connect({ host: hostname, port: Number(port) });
  t.after(() => socket.destroy());
  socket.setEncoding('utf8');
  let text = '';
  const until = async (pattern: RegExp) => {
    while (!pattern.test(text)) text += (await once(socket, 'data'))[0];
  };
  socket.write(`GET /api/v1/events HTTP/1.0\r\nHost: ${hostname}:${port}\r\nAuthorization: Bearer ${qd.owner.key}\r\n\r\n`);
  await until(/event: hello\ndata: \{.*\}\n\n$/);
  assert.match(text, /^HTTP\/1\.1 200 OK\r\n/);
  assert.doesNotMatch(text, /transfer-encoding/i, 'HTTP/1.0 knows no chunks');
  await qd.owner.post('/registry/registries', { slug: 'acme' });
  await until(/event: changed\ndata: \{.*"registry\.registry".*\}\n\n/);
  assert.ok(text.includes('\n\nevent: changed\n'));
});

test('a stream counts once against the rate limit, however long it is open', async (t) => {
  const qd = await quarterdeck(t, { env: { QUARTERDECK_RATE_LIMIT: '60' } });
  const remaining = ({ headers }: { headers: { ratelimit?: unknown } }) => Number(/r=(\d+)/.exec(String(headers.ratelimit))![1]);
  const stream = await listens(t, qd.url, bearer(qd.owner));
  const before = remaining(stream as never);
  for (const slug of ['one', 'two', 'three']) await qd.owner.post('/registry/registries', { slug });
  await stream.changed();
  const after = remaining((await listens(t, qd.url, bearer(qd.owner))) as never);
  assert.ok(before - after <= 4, `${before} before, ${after} after three writes and another stream`);
});
