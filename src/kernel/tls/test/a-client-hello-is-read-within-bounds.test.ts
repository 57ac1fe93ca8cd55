import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { test } from 'node:test';
import tls from 'node:tls';
import fc from 'fast-check';
import { readClientHello } from '../client-hello.ts';

/** The first message that OpenSSL sends with these options. */
async function helloOf(options: tls.ConnectionOptions): Promise<Buffer> {
  const { promise, resolve } = Promise.withResolvers<Buffer>();
  const server = createServer((socket) => socket.on('error', () => {}).once('data', resolve)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = tls.connect({
    host: '127.0.0.1',
    port: (server.address() as { port: number }).port,
    rejectUnauthorized: false,
    ...options,
  });
  client.on('error', () => {});
  const bytes = await promise;
  client.destroy();
  server.close();
  return bytes;
}

test('a first message is read whole, in pieces, and never beyond its bytes', async () => {
  const hello = await helloOf({ servername: 'Status.Example.COM', ALPNProtocols: ['acme-tls/1', 'h2'] });
  const read = readClientHello(hello);
  assert.deepEqual(read, { is: 'hello', hello: { serverName: 'status.example.com', protocols: ['acme-tls/1', 'h2'] } });
  assert.deepEqual(readClientHello(await helloOf({ maxVersion: 'TLSv1.2' })), {
    is: 'hello',
    hello: { serverName: undefined, protocols: [] },
  });

  for (let length = 0; length < hello.length; length++)
    assert.equal(readClientHello(hello.subarray(0, length)).is, 'more', `${length} bytes`);
  // The same message in records of one byte each, and behind it whatever follows.
  const split = Buffer.concat([...hello.subarray(5)].map((byte) => Buffer.from([22, 3, 1, 0, 1, byte])));
  assert.deepEqual(readClientHello(split), read);
  assert.deepEqual(readClientHello(Buffer.concat([hello, Buffer.from([23, 3, 3, 0, 0])])), read);

  for (const bytes of ['GET / HTTP/1.1\r\n', '\x15\x03\x01\x00\x02', '\x16\x03\x01\x00\x00'])
    assert.equal(readClientHello(Buffer.from(bytes, 'latin1')).is, 'other');
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(hello.length - 1), fc.nat(255)), { minLength: 1, maxLength: 8 }), (changes) => {
      const changed = Buffer.from(hello);
      for (const [at, byte] of changes) changed[at] = byte;
      assert.match(readClientHello(changed).is, /^(hello|more|other)$/);
    }),
    { numRuns: 3_000 },
  );
  fc.assert(fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => void readClientHello(Buffer.from(bytes))));
});
