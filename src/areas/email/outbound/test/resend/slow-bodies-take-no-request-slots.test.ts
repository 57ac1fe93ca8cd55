import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../../test/harness/index.ts';
import { sendKey } from '../../../test/sending-key.ts';

test('slow bodies hold none of their organization’s request slots', async (t) => {
  const server = await quarterdeck(t);
  const { secret } = await sendKey(server, server.owner);
  const { port } = new URL(server.url);
  const sockets: Socket[] = [];
  t.after(() => sockets.forEach((socket) => void socket.destroy()));
  for (let n = 0; n < 10; n++) {
    const socket = connect(Number(port), '127.0.0.1');
    sockets.push(socket);
    const head = [
      'POST /resend/emails HTTP/1.1',
      'Host: here',
      `Authorization: Bearer ${secret}`,
      'Content-Length: 100',
      'Expect: 100-continue',
    ];
    socket.write(`${head.join('\r\n')}\r\n\r\n`);
    assert.match(String((await once(socket, 'data'))[0]), /^HTTP\/1\.1 100 /, 'its body is waited for');
    socket.write('{');
  }
  const { status } = await server.owner.get('/email/keys');
  assert.equal(status, 200);
  assert.deepEqual(
    server.app.requests.figures().filter(({ org }) => org === server.owner.orgId),
    [],
  );
  for (const socket of sockets) socket.destroy(); // else the server, when it stops, waits for their bodies
});
