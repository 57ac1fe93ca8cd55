import assert from 'node:assert/strict';
import { once } from 'node:events';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { eventually } from '../../../../test/harness/process.ts';
import { chunksOfBody } from '../body.ts';
import { discard } from '../discard.ts';
import { JoinedRequest } from '../joined-chunks.ts';

const MiB = 1024 * 1024;
const chunkBytes = 65_536;

async function server(t: TestContext, answer: (request: IncomingMessage, response: ServerResponse) => Promise<void>) {
  const made = http.createServer({ IncomingMessage: JoinedRequest }, (request, response) => void answer(request, response));
  made.listen(0, '127.0.0.1');
  await once(made, 'listening');
  t.after(() => {
    made.closeAllConnections();
    made.close();
  });
  const { port } = made.address() as AddressInfo;
  // A client that waits for the response gets an error; after the response the connection may close at any time.
  return (length: number) =>
    http.request({ port, host: '127.0.0.1', method: 'PUT', headers: { 'content-length': length } }).on('error', () => {});
}

const textOf = async (request: http.ClientRequest) => {
  const [answer] = (await once(request, 'response')) as [IncomingMessage];
  let text = '';
  for await (const part of answer.setEncoding('utf8')) text += part;
  return text;
};

test('all of a body passes, and each chunk is given back when the next one is asked for', async (t) => {
  const body = Buffer.alloc(16 * MiB, 'quarterdeck ');
  const send = await server(t, async (request, response) => {
    const passed = Buffer.alloc(body.length);
    let before: Buffer | undefined;
    let [at, kept] = [0, 0];
    for await (const chunk of chunksOfBody(request)) {
      if (before !== undefined && before.length > 0) kept++;
      passed.set(chunk, at);
      at += chunk.length;
      before = chunk;
    }
    response.end(JSON.stringify({ same: passed.equals(body), at, kept }));
  });
  const request = send(body.length);
  request.end(body);
  const { same, at, kept } = JSON.parse(await textOf(request));
  assert.equal(at, body.length);
  assert.ok(same);
  // The first bytes come with the head, or are joined, and are a slice of a larger buffer.
  assert.ok(kept <= 2, `${kept} chunks were still there`);
});

test('a reader that stops reading holds the sender back, and goes on where it was', async (t) => {
  const body = Buffer.alloc(32 * MiB, 'quarterdeck ');
  const go = Promise.withResolvers<void>();
  const held = Promise.withResolvers<IncomingMessage>();
  const send = await server(t, async (request, response) => {
    let at = 0;
    for await (const chunk of chunksOfBody(request)) {
      if (at === 0) held.resolve(request);
      await go.promise;
      at += chunk.length;
    }
    response.end(String(at));
  });
  const sending = send(body.length);
  sending.end(body);
  const request = await held.promise;
  await eventually(async () => request.isPaused());
  assert.ok(request.socket.bytesRead <= 6 * chunkBytes, `${request.socket.bytesRead} bytes were read`);
  go.resolve();
  assert.equal(await textOf(sending), String(body.length));
});

test('a body that is cut off throws after what came, and one that is refused can still be answered', async (t) => {
  const seen = Promise.withResolvers<{ at: number; error: unknown }>();
  const cut = await server(t, async (request) => {
    let at = 0;
    try {
      for await (const chunk of chunksOfBody(request)) {
        at += chunk.length;
        if (at === 700) sending.destroy();
      }
    } catch (error) {
      seen.resolve({ at, error });
    }
  });
  const sending = cut(2_000);
  sending.write(Buffer.alloc(700));
  const { at, error } = await seen.promise;
  assert.equal(at, 700);
  assert.ok(error instanceof Error);

  const refuse = await server(t, async (request, response) => {
    for await (const _ of chunksOfBody(request)) break;
    response.end('no more');
    discard(request);
  });
  const refused = refuse(8 * MiB);
  refused.end(Buffer.alloc(8 * MiB));
  assert.equal(await textOf(refused), 'no more');
});
