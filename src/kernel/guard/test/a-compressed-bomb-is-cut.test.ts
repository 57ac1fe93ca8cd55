import assert from 'node:assert/strict';
import test from 'node:test';
import { brotliCompressSync, constants, createGzip, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { makeGuard, parseAllow } from '../index.ts';
import { httpServer } from './servers.ts';

const guard = makeGuard({ allow: parseAllow('127.0.0.0/8') });
const text = 'the quick brown fox '.repeat(50);
const encodings: Record<string, (input: Buffer) => Buffer> = {
  gzip: gzipSync,
  'x-gzip': gzipSync,
  deflate: deflateSync,
  br: (input) => brotliCompressSync(input, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }),
  zstd: zstdCompressSync,
};

test('a body is unpacked, whatever packed it', async (t) => {
  for (const [encoding, pack] of Object.entries(encodings)) {
    const port = await httpServer(t, (_request, response) =>
      response.writeHead(200, { 'content-encoding': encoding.toUpperCase() }).end(pack(Buffer.from(text))),
    );
    const response = await guard.fetch('uptime', `http://127.0.0.1:${port}/`);
    assert.equal(await response.text(), text);
  }
});

test('a compressed bomb is cut, at the limit of bytes and at the limit of proportion', async (t) => {
  const zeros = Buffer.alloc(2 * 2 ** 20);
  for (const [encoding, pack] of Object.entries(encodings)) {
    const bomb = pack(zeros);
    assert.ok(bomb.length < 5_000);
    const port = await httpServer(t, (_request, response) => response.writeHead(200, { 'content-encoding': encoding }).end(bomb));
    const url = `http://127.0.0.1:${port}/`;

    const sized = await guard.fetch('uptime', url, { maxBodyBytes: 100_000 });
    let read = 0;
    const reading = async () => {
      for await (const chunk of sized.body) read += chunk.length;
    };
    await assert.rejects(reading, { kind: 'too_large', message: /more than 100000 bytes/ });
    assert.equal(read, 100_000);

    const roomy = { maxBodyBytes: 4 * 2 ** 20 };
    await assert.rejects((await guard.fetch('uptime', url, roomy)).bytes(), { kind: 'too_large', message: /over 200 times/ });
    const trusting = await guard.fetch('uptime', url, { ...roomy, decompress: { maxRatio: 1e6 } });
    assert.equal((await trusting.bytes()).length, zeros.length);
  }
});

test('packed bytes that unpack to nothing are counted too', async (t) => {
  const empty = gzipSync('');
  const port = await httpServer(t, (_request, response) => {
    response.writeHead(200, { 'content-encoding': 'gzip' });
    const more = () => {
      while (!response.destroyed && response.write(empty));
    };
    response.on('drain', more);
    more();
  });
  const response = await guard.fetch('uptime', `http://127.0.0.1:${port}/`, { maxBodyBytes: 100_000 });
  await assert.rejects(response.bytes(), { kind: 'too_large' });
});

test('a window larger than HTTP allows is not given memory', async (t) => {
  // RFC 8878 3.1.1: magic, no flags, a window of 2^(10 + n) bytes, and one last raw block of four bytes.
  const frame = (n: number) => Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, n << 3, (4 << 3) | 1, 0, 0, ...Buffer.from('ahoy')]);
  const port = await httpServer(t, (request, response) => {
    response.writeHead(200, { 'content-encoding': 'zstd' }).end(frame(Number(request.url!.slice(1))));
  });
  assert.equal(await (await guard.fetch('uptime', `http://127.0.0.1:${port}/13`)).text(), 'ahoy');
  await assert.rejects((await guard.fetch('uptime', `http://127.0.0.1:${port}/17`)).bytes(), { kind: 'protocol' });
});

test('a broken archive is a failure of the protocol', async (t) => {
  const whole = gzipSync(text);
  for (const broken of [Buffer.from('not packed at all'), whole.subarray(0, whole.length - 10)]) {
    const port = await httpServer(t, (_request, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(broken));
    await assert.rejects((await guard.fetch('uptime', `http://127.0.0.1:${port}/`)).bytes(), { kind: 'protocol', phase: 'transfer' });
  }
});

test('an answer without a body is not a broken archive', async (t) => {
  const port = await httpServer(t, (request, response) => {
    response
      .writeHead(request.url === '/204' ? 204 : 200, {
        'content-encoding': 'gzip',
        ...(request.url === '/0' ? { 'content-length': '0' } : {}),
      })
      .end();
  });
  for (const [method, path] of [
    ['HEAD', '/'],
    ['GET', '/204'],
    ['GET', '/0'],
  ] as const) {
    const response = await guard.fetch('uptime', `http://127.0.0.1:${port}${path}`, { method });
    assert.equal((await response.bytes()).length, 0);
  }
});

test('what we cannot unpack is handed on as it is', async (t) => {
  for (const encoding of ['constructor', '__proto__', 'identity', 'gzip, gzip', 'x-unknown', '']) {
    const port = await httpServer(t, (_request, response) => response.writeHead(200, { 'content-encoding': encoding }).end('as it is'));
    assert.equal(await (await guard.fetch('uptime', `http://127.0.0.1:${port}/`)).text(), 'as it is');
  }
});

test('bytes are left alone for those who ask for them', async (t) => {
  const packed = gzipSync(text);
  const asked: (string | string[] | undefined)[] = [];
  const port = await httpServer(t, (request, response) => {
    asked.push(request.headers['accept-encoding']);
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(packed);
  });
  const response = await guard.fetch('upstream', `http://127.0.0.1:${port}/`, { decompress: false });
  assert.deepEqual(await response.bytes(), packed);
  await (await guard.fetch('upstream', `http://127.0.0.1:${port}/`)).bytes();
  assert.deepEqual(asked, ['identity', 'gzip, br, zstd']);
});

test('a body that is packed while it is sent arrives while it is sent', async (t) => {
  const port = await httpServer(t, (_request, response) => {
    const gzip = createGzip();
    gzip.pipe(response.writeHead(200, { 'content-encoding': 'gzip' }));
    gzip.write('first');
    gzip.flush();
  });
  const response = await guard.fetch('uptime', `http://127.0.0.1:${port}/`);
  assert.equal(String((await response.body.next()).value), 'first');
  await response.body.return();
});
