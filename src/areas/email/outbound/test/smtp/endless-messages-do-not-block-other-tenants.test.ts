import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { smtpDoor } from '../../../test/smtp-scene.ts';

/** MiB for request bodies; messages in memory have half as much in addition. */
const memory = 32;

test('endless messages block no other tenant, neither by SMTP nor by HTTP', async (t) => {
  const { server, keys, port, speak } = await smtpDoor(t, { env: { QUARTERDECK_BODY_MEMORY: String(memory) } });
  const clients: Socket[] = [];
  t.after(() => clients.forEach((socket) => void socket.destroy()));
  /** All but the end of a message, as large as one that is gathered may be; from many addresses. Over once it was asked for it. */
  const beginWithoutEnd = async (secret: string) => {
    const socket = connect({ port, host: '127.0.0.1', localAddress: `127.0.0.${2 + (clients.length % 50)}` });
    clients.push(socket);
    const login = `AUTH PLAIN ${Buffer.from(`\0apikey\0${secret}`).toString('base64')}`;
    socket.write(`EHLO x\r\n${login}\r\nMAIL FROM:<>\r\nRCPT TO:<bob@far.example>\r\nDATA\r\n`);
    for (let heard = ''; !heard.includes('\n354 '); ) heard += String((await once(socket, 'data'))[0]);
    socket.resume().write(`From: ada@example.com\r\n\r\n${'x'.repeat(262_000)}`);
  };
  for (const org of ['org_a', 'org_b'])
    for (let key = 0; key < 2; key++) {
      const { secret } = keys.mint({ org });
      await Promise.all(Array.from({ length: 15 }, () => beginWithoutEnd(secret)));
    }

  const other = await speak();
  assert.match(await other.beginMessage(keys.mint({ org: 'org_c' }).secret), /^354/);
  assert.match(await other.say(`From: ada@example.com\r\n\r\n${`${'x'.repeat(998)}\r\n`.repeat(200)}.`), /^250/);
  assert.equal(server.app.bodies.figures().total, 0, 'nothing of what requests may have');
  for (const socket of clients) socket.destroy(); // else the door, when it stops, waits for the ends
});
