import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import type { Logger } from '../../log.ts';
import { alwaysPresent } from '../../tls/index.ts';
import { makeCertificate } from '../../x509/certificate.ts';

import { makeConnectionSlots } from '../connection-slots.ts';
import { makeSmtpServer } from '../server.ts';

test('a handshake that does not end is cut off, though bytes of it come', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
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
  t.after(() => server.stop(1_000));

  const slow = connect(port, '127.0.0.1');
  slow.on('error', () => {});
  t.after(() => slow.destroy());
  const quick = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false });
  t.after(() => quick.destroy());
  const [greeting] = (await once(quick, 'data')) as [Buffer];
  assert.match(greeting.toString(), /^220 /);
  assert.equal(room.size, 2);
  for (const byte of [0x16, 3, 1, 2, 0, 1]) {
    slow.write(Buffer.from([byte]));
    await new Promise(setImmediate);
    t.mock.timers.tick(5_000);
  }
  assert.equal(room.size, 1);
  quick.write('NOOP\r\n');
  const [answer] = (await once(quick, 'data')) as [Buffer];
  assert.match(answer.toString(), /^250 /, 'whose handshake is through stays');
});
