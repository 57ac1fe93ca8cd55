import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { eventually } from '../../../../test/harness/process.ts';
import type { Logger } from '../../log.ts';
import { alwaysPresent } from '../../tls/index.ts';
import { makeCertificate } from '../../x509/certificate.ts';
import { makeConnectionSlots } from '../connection-slots.ts';
import { makeSmtpServer } from '../server.ts';

test('a TLS handshake that is under way when the server stops is finished, and its client told to come again', async (t) => {
  const room = makeConnectionSlots({ each: 10, all: 10 });
  const server = makeSmtpServer({
    tls: alwaysPresent(makeCertificate('mx.example.com')),
    isSecure: true,
    door: 'test',
    name: 'mx.example.com',
    room,
    mostBytes: 1_000,
    mostCommands: 100,
    greetAfterMs: 0,
    idleMs: 300_000,
    log: { debug: () => {} } as unknown as Logger,
    placeOf: () => 'here',
    open: () => ({
      begin: () => {},
      beginMessage: () => {},
      addRecipient: () => {},
      expectMessage: () => assert.fail(),
      takeMessage: () => assert.fail(),
      end: () => {},
    }),
  });
  const port = await server.listen({ host: '127.0.0.1', port: 0 }, 'a port');
  t.after(() => server.stop(0));

  // On its way the first message of the client comes in two parts: one before the stop, and one after it.
  const isStopping = Promise.withResolvers<void>();
  const way = createServer((client) => {
    const onward = connect(port, '127.0.0.1');
    onward.on('error', () => {}).pipe(client.on('error', () => {}));
    t.after(() => {
      onward.destroy();
      client.destroy();
    });
    client.once('data', async (hello: Buffer) => {
      client.pause();
      onward.write(hello.subarray(0, 10));
      await isStopping.promise;
      onward.write(hello.subarray(10));
      client.pipe(onward);
    });
  }).listen(0, '127.0.0.1');
  t.after(() => way.close());
  await once(way, 'listening');
  const client = connectTls({ port: (way.address() as AddressInfo).port, host: '127.0.0.1', rejectUnauthorized: false });
  client.on('error', () => {});
  t.after(() => client.destroy());
  const silent = connect(port, '127.0.0.1').on('error', () => {});
  await eventually(async () => room.size === 2);

  t.mock.timers.enable({ apis: ['setTimeout'] });
  const stopped = server.stop(10_000);
  const isCut = once(silent, 'close');
  isStopping.resolve();
  const told = (await client.setEncoding('utf8').toArray()).join('');
  assert.match(told, /^421 4\.3\.2 the server stops/m);
  // A client that says nothing holds the stop up for a second.
  t.mock.timers.tick(1_000);
  await Promise.all([isCut, stopped]);
});
