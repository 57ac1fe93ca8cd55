import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { test } from 'node:test';
import { speakSmtp } from './smtp-scene.ts';

test('the SMTP client of these tests hears that its connection was reset', { timeout: 10_000 }, async (t) => {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.write('220 ready\r\n');
    socket.once('data', () => socket.resetAndDestroy());
  }).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const speaker = await speakSmtp(t, (server.address() as AddressInfo).port);
  assert.match(await speaker.say('EHLO client.example'), /^\(closed\)/);
  await speaker.closed;
});
