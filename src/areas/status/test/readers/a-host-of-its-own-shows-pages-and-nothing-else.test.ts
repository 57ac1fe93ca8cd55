import assert from 'node:assert/strict';
import { request } from 'node:http';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { ownHost } from '../../planes/public/own-host.ts';
import { house, incident, page, publish, service, shows } from '../support.ts';

const ask = (url: string, host: string, path: string, method = 'GET') =>
  new Promise<{ status: number; text: string }>((resolve, reject) => {
    const asked = request(url + path, { method, headers: { host } }, (answer) => {
      let text = '';
      answer
        .setEncoding('utf8')
        .on('data', (part) => (text += part))
        .on('end', () => resolve({ status: answer.statusCode!, text }));
    });
    asked.on('error', reject).end();
  });

test('a host of its own shows pages, and nothing else of the product', async (t) => {
  const { owner, url } = await house(t, { env: { QUARTERDECK_STATUS_URL: 'https://status.example.com' } });
  const web = await service(owner, 'Web');
  const made = await page(owner, 'acme', [web.id]);
  assert.equal(made.url, 'https://status.example.com/acme');
  await publish(owner, await incident(owner, web.id, 'Slow'), 'We are looking.');
  await shows(url, 'acme', (text) => text.includes('Slow'));

  for (const host of ['status.example.com', 'STATUS.example.com']) {
    for (const path of [
      '/acme',
      '/acme?utm=1',
      '/status/acme',
      '/acme.json',
      '/acme/feed.atom',
      '/acme/history',
      '/acme/api/v2/summary.json',
    ]) {
      const { status, text } = await ask(url, host, path);
      assert.equal(status, 200, path);
      assert.ok(text.includes('Slow'), path);
    }
    for (const path of [
      '/',
      '/healthz',
      '/readyz',
      '/metrics',
      '/docs',
      '/docs/',
      '/api/v1/tokens',
      '/api/v1/status-pages',
      '/v2/',
      '/token',
      '/openapi.json',
      '/oncall/ack/x',
      '/agent/v1/session',
      '/favicon.ico',
    ])
      for (const method of ['GET', 'POST']) {
        const { status, text } = await ask(url, host, path, method);
        assert.equal(status, 404, `${method} ${path}`);
        assert.match(text, /There is no such page/);
      }
  }
  const feed = (await ask(url, 'status.example.com', '/acme/feed.atom')).text;
  assert.ok(feed.includes('href="https://status.example.com/acme/feed.atom"') && !feed.includes(url));

  // On the main host everything is as ever, and pages are not at the root.
  const main = new URL(url).host;
  assert.equal((await ask(url, main, '/status/acme')).status, 200);
  assert.equal((await ask(url, main, '/healthz')).status, 200);
  assert.equal((await ask(url, main, '/acme')).status, 404);
});

test('a process that shows no pages says who does, on their own host too', async (t) => {
  const env = { QUARTERDECK_STATUS_URL: 'https://status.example.com' };
  const { connection, dataDir } = await house(t, { env });
  const worker = await quarterdeck(t, {
    connection,
    dataDir,
    env: { ...env, QUARTERDECK_ROLES: 'worker', QUARTERDECK_PUBLIC_URL: 'http://127.0.0.1:1' },
  });
  for (const [host, path] of [
    ['status.example.com', '/acme'],
    ['status.example.com', '/acme/subscribe'],
    [new URL(worker.url).host, '/status/acme'],
  ] as const) {
    const { status, text } = await ask(worker.url, host, path);
    assert.equal(status, 404);
    assert.match(text, /<p>this is served by a process with the role api; this one runs worker\./);
  }
});

test('a host that could not be one of its own is refused with a sentence', () => {
  const of = (status_url: string, public_url = '') => ownHost({ status_url, public_url });
  assert.equal(of(''), undefined);
  assert.equal(of('https://Status.Example.com:443'), 'status.example.com');
  assert.equal(of('http://status.example.com:8080', 'https://example.com'), 'status.example.com:8080');
  assert.throws(() => of('https://example.com/status'), /leave the path out/);
  assert.throws(() => of('https://example.com', 'https://example.com'), /host of their own/);
});
