import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { test } from 'node:test';
import { ResponseSink } from '../endless.ts';

test('what comes after the last event of a reader who does not read is dropped', async (t) => {
  const server = createServer().listen(0, '127.0.0.1');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, 'listening');
  const reader = connect((server.address() as AddressInfo).port, '127.0.0.1').pause();
  reader.on('error', () => {});
  t.after(() => reader.destroy());
  const asked = once(server, 'request');
  reader.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  const [, response] = await asked;
  const errors: unknown[] = [];
  response.on('error', (error: unknown) => errors.push(error)); // without a listener it ends the process
  const sink = new ResponseSink(response);
  sink.write('x'.repeat(16 * 2 ** 20));
  sink.end('bye');
  assert.ok(sink.bufferedBytes > 0, 'the reader does not read');
  sink.write('a hint');
  sink.end('bye again');
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  assert.deepEqual(errors, []);
});
