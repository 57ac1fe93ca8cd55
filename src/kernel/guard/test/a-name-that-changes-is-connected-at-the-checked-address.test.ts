import assert from 'node:assert/strict';
import test from 'node:test';
import { GuardRefusal, makeGuard, type Resolver } from '../index.ts';
import { loopback, recorder, says, somewhere } from './internet.ts';
import { httpServer, tcpServer } from './servers.ts';

/** Public when it is checked, private ever after. */
const rebinding = (): Resolver & { times: number } => {
  const resolver = { times: 0, resolve: async () => [{ address: resolver.times++ === 0 ? somewhere : '127.0.0.1' }] };
  return resolver;
};

test('a name that changes its mind is connected where it was judged', async () => {
  for (const attempt of ['fetch', 'tcp', 'tls'] as const) {
    const { connector, reached } = recorder();
    const resolver = rebinding();
    const guard = makeGuard({ resolver, connector });
    const trying = {
      fetch: () => guard.fetch('webhook', 'http://rebind.example.org:81/'),
      tcp: () => guard.connectTcp('uptime', 'rebind.example.org', 81),
      tls: () => guard.connectTls('uptime', 'rebind.example.org', 81),
    };
    await assert.rejects(trying[attempt](), { kind: 'connection_refused' });
    assert.equal(resolver.times, 1);
    assert.deepEqual(reached, [{ address: somewhere, family: 4, port: 81 }]);
  }
});

test('a redirect to the same name is judged anew', async (t) => {
  const port = await httpServer(t, (_request, response) => response.writeHead(302, { location: '/again' }).end());
  const { connector, reached } = loopback(() => port);
  const guard = makeGuard({ resolver: rebinding(), connector });
  await assert.rejects(guard.fetch('uptime', 'http://rebind.example.org/', { maxRedirects: 5 }), GuardRefusal);
  assert.equal(reached.length, 1);
});

test('a connection that ends somewhere else than judged is closed', async (t) => {
  let closed = () => {};
  const wasClosed = new Promise<void>((resolve) => {
    closed = resolve;
  });
  const port = await tcpServer(t, (socket) => socket.on('data', () => assert.fail('nothing may be sent')).on('close', closed));
  const { connector } = loopback(
    () => port,
    () => '127.0.0.1',
  );
  const guard = makeGuard({ resolver: says(somewhere), connector });
  await assert.rejects(guard.fetch('uptime', 'http://example.org/'), { name: 'GuardRefusal', kind: 'address' });
  await wasClosed;
});
