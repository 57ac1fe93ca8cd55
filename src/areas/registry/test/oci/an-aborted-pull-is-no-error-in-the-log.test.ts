import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { test } from 'node:test';
import { digestOf, imageOf, pushImage, registryServer, someBytes } from '../registry-server.ts';

test('an aborted pull is no error in the log', async (t) => {
  const { send, url, app } = await registryServer(t);
  const layer = someBytes(8_000_000);
  const image = imageOf([layer]);
  await pushImage(send, 'acme/app', 'v1', image);
  const said = (['error', 'warn'] as const).map((level) => t.mock.method(app.log, level));
  const port = Number(new URL(url).port);

  const abort = async (path: string, how: 'reset' | 'close', afterBytes: number) => {
    const socket = net.connect(port, '127.0.0.1').setNoDelay();
    socket.on('error', () => {});
    await once(socket, 'connect');
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer alice\r\n\r\n`);
    let seen = 0;
    if (afterBytes)
      await new Promise<void>((resolve) =>
        socket.on('data', (chunk) => {
          seen += chunk.length;
          if (seen >= afterBytes) resolve();
        }),
      );
    if (how === 'reset') socket.resetAndDestroy();
    else socket.destroy();
  };
  for (let round = 0; round < 5; round++)
    for (const how of ['reset', 'close'] as const)
      await Promise.all(
        [0, 1, 100_000, 3_000_000].flatMap((bytes) => [
          abort(`/v2/acme/app/blobs/${digestOf(layer)}`, how, bytes),
          abort(`/v2/acme/app/manifests/v1`, how, Math.min(1, bytes)),
        ]),
      );
  await send('GET', '/v2/');
  assert.deepEqual(
    said.map((m) => m.mock.callCount()),
    [0, 0],
  );
});
