import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { digestOf, imageOf, pushImage, registryServer } from '../registry-server.ts';

test('pipelined requests on one connection each get their own answer from memory, with any credential', async (t) => {
  const { send, url, registry, allow } = await registryServer(t);
  const layer = Buffer.from('the bytes of a layer');
  await pushImage(send, 'acme/app', 'v1', imageOf([layer]));
  allow('stranger', { strange: { registryId: await registry('strange') } });
  const path = `/v2/acme/app/blobs/${digestOf(layer)}`;
  for (let n = 0; n < 2; n++) assert.equal((await send('GET', path)).status, 200); // in memory from now on
  for (const refused of ['nobody', 'stranger'])
    assert.equal((await send('GET', path, { as: refused })).headers.connection, 'keep-alive', `${refused} may go on asking`);

  const ask = (method: string, as: string, more = '\r\n') =>
    `${method} ${path} HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer ${as}\r\n${more}`;
  const smuggled = ask('GET', 'stranger');
  const row = [
    ask('GET', 'alice'),
    ask('GET', 'stranger'),
    ask('HEAD', 'alice'),
    ask('GET', 'alice', `Content-Length: ${smuggled.length}\r\n\r\n${smuggled}`),
    ask('GET', 'alice', `Transfer-Encoding: chunked\r\n\r\n${smuggled.length.toString(16)}\r\n${smuggled}\r\n0\r\n\r\n`),
    ask('GET', 'nobody'),
    ask('GET', 'alice', 'Expect: 100-continue\r\nConnection: close\r\n\r\n'),
  ];
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.write(row.join(''));
  const said = await text(socket);

  const statuses = [...said.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status)).filter((status) => status !== 100);
  assert.deepEqual(statuses, [200, 403, 200, 200, 200, 401, 200]);
  const ids = [...said.matchAll(/^x-request-id: (\S+)/gim)].map(([, id]) => id);
  assert.equal(ids.length, row.length);
  assert.equal(new Set(ids).size, row.length, 'no two have the same id');
  assert.equal(said.split(layer.toString()).length - 1, 4, 'four asked for the bytes and may have them');
});
