import assert from 'node:assert/strict';
import net from 'node:net';
import { test } from 'node:test';
import { digestOf, registryServer, someBytes } from '../registry-server.ts';

const MiB = 1024 * 1024;

/** Sends the whole chunked body before it reads the answer, like simple clients. */
function sendAll(url: string, head: string[], chunk: Buffer, times: number): Promise<string> {
  const { hostname, port, host } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = net.connect({ host: hostname, port: Number(port) });
    socket.on('error', reject);
    socket.pause();
    const heard: Buffer[] = [];
    const write = (bytes: Buffer | string) => new Promise<void>((done) => socket.write(bytes, () => done()));
    socket.on('connect', async () => {
      await write(`${[...head, `Host: ${host}`, 'Authorization: Bearer bob', 'Transfer-Encoding: chunked'].join('\r\n')}\r\n\r\n`);
      for (let i = 0; i < times && !socket.destroyed; i++) {
        await write(`${chunk.length.toString(16)}\r\n`);
        await write(chunk);
        await write('\r\n');
      }
      await write('0\r\n\r\n');
      socket.on('data', (bytes: Buffer) => heard.push(bytes));
      socket.on('end', () => resolve(Buffer.concat(heard).toString()));
      socket.resume();
    });
  });
}

test('a client refused while sending reads the reason', async (t) => {
  const { url, send, registry, allow } = await registryServer(t);
  allow('bob', { tiny: { registryId: await registry('tiny', 5 * MiB) } });
  const start = async () => (await send('POST', '/v2/tiny/app/blobs/uploads/', { as: 'bob' })).headers.location!;
  const chunk = someBytes(MiB);
  for (const head of [`PATCH ${await start()} HTTP/1.1`, `PUT ${await start()}?digest=${digestOf(chunk)} HTTP/1.1`]) {
    const answer = await sendAll(url, [head], chunk, 24);
    assert.match(answer, /^HTTP\/1\.1 403 /, head);
    assert.match(answer, /\r\nConnection: close\r\n/i, 'and that nothing more is taken');
    assert.match(answer, /"code":"DENIED","message":"the registry's quota is 5242880 bytes/);
  }

  // An endless body is cut off all the same.
  await assert.rejects(sendAll(url, [`PATCH ${await start()} HTTP/1.1`], chunk, 400));
});
