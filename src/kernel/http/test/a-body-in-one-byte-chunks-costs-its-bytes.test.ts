// alone: it measures what the process holds in memory
import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { assertCostsItsBytes, flood, hasStopped, held, inOneByteChunks } from '../../../../test/harness/one-byte-chunks.ts';
import { gather } from '../../buffers/growing-buffer.ts';
import { makeByteBudget } from '../../fairness/index.ts';
import { makeLog } from '../../log.ts';
import { readBody } from '../body.ts';
import { discard } from '../discard.ts';
import { makePeers } from '../peer.ts';
import { makeServer } from '../server.ts';

/** A server that passes each request's body to this function, and answers with the result. */
async function reading(t: TestContext, read: (request: IncomingMessage) => Promise<string>) {
  const server = makeServer({
    log: makeLog('silent'),
    peers: makePeers([]),
    raw: [
      (request, response) => {
        read(request).then(
          (text) => response.end(text),
          (error) => response.writeHead(error.status ?? 500).end(error.message),
        );
        return true;
      },
    ],
  });
  await server.listen({ host: '127.0.0.1', port: 0 });
  t.after(() => server.close());
  return `http://127.0.0.1:${(server.server.address() as { port: number }).port}`;
}

const limits = {
  maxBytes: 100_000,
  totalMs: 120_000,
  held: makeByteBudget({ total: 1e9, maxPerHolder: { org: 1e9, credential: 1e9, address: 1e9 } }).open({}),
};
const sent = (body: string) => ({ method: 'POST', path: '/', headers: {}, body });
const bodies = (connections: number, bytes: number) =>
  Array.from({ length: connections }, (_, n) => String(n).repeat(bytes).slice(0, bytes));

test('a body that is read costs its bytes', async (t) => {
  const url = await reading(t, async (request) => String(await readBody(request, limits)));
  const wanted = bodies(4, 20_000);
  const { kept, bytes, answers } = await flood(url, wanted.map(sent));
  assertCostsItsBytes(kept, bytes);
  assert.deepEqual(
    answers.map(({ text }) => text),
    wanted,
  );
});

test('an unread body costs its bytes, and is complete when it is read', async (t) => {
  const allowed = Promise.withResolvers<void>();
  const url = await reading(t, async (request) => {
    await allowed.promise;
    return String(await readBody(request, limits));
  });
  const wanted = bodies(4, 20_000);
  const { kept, bytes, answers } = await flood(url, wanted.map(sent), { isUnread: true, measured: allowed.resolve });
  assertCostsItsBytes(kept, bytes);
  assert.deepEqual(
    answers.map(({ text }) => text),
    wanted,
  );
});

test('of an endless unread body, no more is buffered than a reader might want at once', async (t) => {
  const arrived = Promise.withResolvers<IncomingMessage>();
  const url = await reading(t, (request) => {
    arrived.resolve(request);
    return new Promise(() => {});
  });
  const wire = inOneByteChunks('a'.repeat(500_000));
  const before = await held();
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.on('error', () => {}).write('POST / HTTP/1.1\r\nhost: here\r\ntransfer-encoding: chunked\r\n\r\n');
  socket.write(wire);
  const request = await arrived.promise;
  await hasStopped([request.socket]);
  const kept = (await held()) - before;
  const { readableLength, readableHighWaterMark } = request;
  request.destroy();
  assert.ok(readableLength < 2 * readableHighWaterMark, `${readableLength} bytes wait for a reader`);
  assertCostsItsBytes(kept, readableLength);
});

test('a body that is refused is thrown away as it comes', async (t) => {
  const url = await reading(t, (request) => readBody(request, { ...limits, maxBytes: 1_000 }).then(String));
  const { kept, answers } = await flood(url, bodies(4, 20_000).map(sent));
  assertCostsItsBytes(kept, 0);
  for (const { status } of answers) assert.equal(status, 413);

  const ignoring = await reading(t, async (request) => {
    discard(request);
    return 'no, thanks';
  });
  assertCostsItsBytes((await flood(ignoring, bodies(4, 20_000).map(sent))).kept, 0);
});

const readers: Record<string, (request: IncomingMessage) => Promise<string>> = {
  'as it comes': async (request) => String(await readBody(request, limits)),
  'in its own time': async (request) => {
    let text = '';
    for await (const chunk of request) {
      text += chunk;
      for (let turns = text.length % 4; turns > 0; turns--) await turn();
    }
    return text;
  },
  'with pauses': (request) =>
    new Promise((resolve, reject) => {
      let text = '';
      request.on('data', (chunk) => {
        text += chunk;
        request.pause();
        setImmediate(() => request.resume());
      });
      request.on('end', () => resolve(text)).on('error', reject);
    }),
};

test('however a body is chunked and read, all of it arrives in order', async (t) => {
  const size = fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 9_000 }));
  const sizes = fc.array(fc.tuple(size, fc.integer({ min: 1, max: 300 })), { minLength: 1, maxLength: 8 });
  for (const [name, read] of Object.entries(readers)) {
    const url = await reading(t, read);
    await fc.assert(
      fc.asyncProperty(sizes, fc.boolean(), async (groups, isTogether) => {
        const cuts = groups.flatMap(([bytes, times]) => Array<number>(Math.min(times, Math.ceil(9_000 / bytes))).fill(bytes));
        const body = Buffer.from(cuts.map((bytes, n) => String.fromCharCode(97 + (n % 26)).repeat(bytes)).join(''));
        assert.equal(await posted(url, body, cuts, isTogether), String(body), name);
      }),
      { numRuns: 25 },
    );
  }
});

/** Posts a body in chunks of these sizes, in one write or in one for each; returns the response text. */
async function posted(url: string, body: Buffer, cuts: number[], isTogether: boolean): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  let at = 0;
  const chunks = cuts.map((bytes) => {
    const chunk = Buffer.concat([Buffer.from(`${bytes.toString(16)}\r\n`), body.subarray(at, at + bytes), Buffer.from('\r\n')]);
    at += bytes;
    return chunk;
  });
  socket.write('POST / HTTP/1.1\r\nhost: here\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n');
  for (const chunk of isTogether ? [Buffer.concat(chunks)] : chunks) socket.write(chunk);
  socket.write('0\r\n\r\n');
  const answer = await gather(socket);
  const [, encoded = ''] = answer.toString('latin1').split('\r\n\r\n');
  return encoded;
}
