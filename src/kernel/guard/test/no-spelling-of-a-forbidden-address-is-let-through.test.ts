import assert from 'node:assert/strict';
import test from 'node:test';
import { GuardRefusal, makeGuard } from '../index.ts';
import { recorder, says, somewhere } from './internet.ts';
import { literalHosts, trickHosts, trickUrls } from './spellings.ts';

test('no spelling of a forbidden address is let through', async () => {
  assert.ok(literalHosts.length + trickHosts.length + trickUrls.length > 1000);
  const { connector, reached } = recorder();
  // A resolver that makes everything public: a literal that was mistaken for a name would be connected, and recorded.
  const resolver = says(somewhere);
  const guard = makeGuard({ resolver, connector });
  for (const host of literalHosts) {
    await refused(() => guard.fetch('webhook', `http://${host}/`), host);
    await refused(() => guard.fetch('webhook', `https://${host}:8443/x`), host);
    await refused(() => guard.connectTcp('uptime', host, 80), host);
    await refused(() => guard.connectTls('uptime', host, 443), host);
    await refused(async () => guard.checkUrl('webhook', `http://${host}/`), host);
    await refused(async () => guard.checkHost('uptime', host, 80), host);
  }
  assert.deepEqual(resolver.asked, []);
  assert.deepEqual(reached, []);
});

test('no trick with names and URLs reaches this machine', async () => {
  const { connector, reached } = recorder();
  const guard = makeGuard({ resolver: says('127.0.0.1'), connector });
  for (const host of trickHosts) {
    await refused(() => guard.fetch('webhook', `http://${host}/`), host);
    await refused(() => guard.connectTcp('uptime', host, 80), host);
    await refused(() => guard.connectTls('uptime', host, 443), host);
  }
  for (const url of trickUrls) {
    await refused(() => guard.fetch('webhook', url), url);
    await refused(async () => guard.checkUrl('webhook', url), url);
  }
  assert.deepEqual(reached, []);
});

test('a host without a URL has one way to be written', async () => {
  const { connector, reached } = recorder();
  const guard = makeGuard({ resolver: says(somewhere), connector });
  for (const host of [
    'ex%61mple.org',
    '[8.8.8.8]',
    '[example.org]',
    'example.org:80',
    '8.8.8.8:80',
    '[2606:4700::1111]:80',
    'user@example.org',
    'example.org/x',
  ]) {
    await assert.rejects(guard.connectTcp('uptime', host, 80), { name: 'GuardRefusal', kind: 'host' }, host);
  }
  assert.deepEqual(reached, []);
});

test('the recorder does record what is let through', async () => {
  const { connector, reached } = recorder();
  const guard = makeGuard({ resolver: says(somewhere), connector });
  await assert.rejects(guard.fetch('webhook', 'http://example.org/'), { kind: 'connection_refused' });
  await assert.rejects(guard.connectTcp('uptime', '[::ffff:8.8.4.4]', 25), { kind: 'connection_refused' });
  await assert.rejects(guard.connectTls('uptime', '2606:4700::1111', 443), { kind: 'connection_refused' });
  assert.deepEqual(reached, [
    { address: somewhere, family: 4, port: 80 },
    { address: '8.8.4.4', family: 4, port: 25 },
    { address: '2606:4700::1111', family: 6, port: 443 },
  ]);
});

async function refused(attempt: () => Promise<unknown>, what: string) {
  await assert.rejects(attempt, (error) => error instanceof GuardRefusal && error.status === 400, JSON.stringify(what));
}
