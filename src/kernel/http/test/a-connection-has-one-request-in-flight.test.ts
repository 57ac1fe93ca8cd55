import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { makeLog } from '../../log.ts';
import { readBody } from '../body.ts';
import { makePeers } from '../peer.ts';
import { makeServer } from '../server.ts';

type Handle = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>;

async function serve(t: TestContext, handle: Handle, parsed?: () => void, isBusy = () => false): Promise<{ dial(): Promise<Socket> }> {
  const server = makeServer({
    log: makeLog('silent'),
    peers: makePeers([]),
    isBusy,
    raw: [
      (request, response) => {
        void handle(request, response);
        return true;
      },
    ],
  });
  t.after(() => server.close());
  if (parsed) server.server.on('request', parsed);
  const { port } = new URL(await server.listen({ host: '127.0.0.1', port: 0 }));
  return {
    dial: async () => {
      const socket = connect(Number(port), '127.0.0.1');
      t.after(() => socket.destroy());
      await once(socket, 'connect');
      return socket;
    },
  };
}

/** The response bodies, one line each, until there are this many. */
async function readAnswers(socket: Socket, count: number): Promise<string[]> {
  let text = '';
  for await (const chunk of socket) {
    text += chunk;
    if (text.split('HTTP/1.1 200').length - 1 >= count && text.endsWith('\n')) break;
  }
  return text.split('\n').filter((line) => line.startsWith('answer '));
}

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;
const echo: Handle = ({ url }, response) => void response.end(`answer ${url}\n`);

test('a client that pipelines two thousand requests yields to others between them, and is answered in order', async (t) => {
  const order: string[] = [];
  let wake = () => {};
  const { dial } = await serve(t, (request, response) => {
    order.push(request.url!);
    if (order.length === 1) wake(); // the other client sends once the first of the bulk is in flight
    echo(request, response);
  });
  const [bulk, other] = await Promise.all([dial(), dial()]);
  wake = () => void other.write(get('/other'));
  const paths = Array.from({ length: 2_000 }, (_, n) => `/${n}`);
  bulk.write(paths.map(get).join(''));
  const [answers] = await Promise.all([readAnswers(bulk, 2_000), readAnswers(other, 1)]);
  assert.deepEqual(
    answers,
    paths.map((path) => `answer ${path}`),
  );
  assert.ok(order.indexOf('/other') < 100, `${order.indexOf('/other')} of the bulk came first`);
});

test('a request begins once the one before it on its connection was answered', async (t) => {
  const underWay: ServerResponse[] = [];
  const { dial } = await serve(t, (_, response) => void underWay.push(response));
  const socket = await dial();
  for (let n = 0; n < 200; n++) socket.write(get(`/${'x'.repeat(10_000)}`));
  for (let round = 0; round < 5; round++) {
    while (underWay.length === 0) await new Promise((later) => setImmediate(later));
    for (let turn = 0; turn < 20; turn++) await new Promise((later) => setImmediate(later));
    assert.equal(underWay.length, 1);
    underWay.shift()!.end('answer\n');
  }
});

test('bodies of any framing, cut anywhere, keep their bytes and their place', async (t) => {
  const { dial } = await serve(t, async (request, response) => {
    const held = { reserve: () => true, release: () => {}, holdWhile: <T>(act: () => T) => act() };
    const body = await readBody(request, { maxBytes: 1_000_000, totalMs: 10_000, held: held as never });
    response.end(`answer ${request.url} ${body.toString('hex').slice(0, 20)} ${body.length}\n`);
  });
  const bodies = [
    Buffer.from('\r\n\r\nGET /no HTTP/1.1\r\n\r\n'),
    randomBytes(70_000),
    Buffer.from('\r\n\r\n'.repeat(2_000)),
    Buffer.alloc(0),
  ];
  const sent = bodies.flatMap((body, n) => [
    Buffer.from(`POST /fixed${n} HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n`),
    body,
    Buffer.from(`POST /chunked${n} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n`),
    ...(body.length ? [Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from('\r\n')] : []),
    Buffer.from('0\r\n\r\n'),
    Buffer.from(get(`/get${n}`)),
  ]);
  const expected = bodies.flatMap((body, n) => {
    const shown = `${body.toString('hex').slice(0, 20)} ${body.length}`;
    return [`answer /fixed${n} ${shown}`, `answer /chunked${n} ${shown}`, `answer /get${n}  0`];
  });
  const whole = Buffer.concat(sent);
  for (const size of [whole.length, 60_000, 1_337, 997]) {
    const socket = await dial();
    void (async () => {
      for (let at = 0; at < whole.length; at += size) {
        socket.write(whole.subarray(at, at + size));
        await new Promise((later) => setImmediate(later));
      }
    })();
    assert.deepEqual(await readAnswers(socket, expected.length), expected, `in pieces of ${size}`);
  }
});

test('what is no HTTP behind a request is refused after its answer', async (t) => {
  const { dial } = await serve(t, echo);
  const socket = await dial();
  socket.write(`${get('/first')}nonsense\r\n\r\n${get('/never')}`);
  let text = '';
  for await (const chunk of socket) text += chunk;
  assert.match(text, /^HTTP\/1\.1 200[\s\S]*answer \/first\n[\s\S]*HTTP\/1\.1 400/);
  assert.doesNotMatch(text, /never/);
});

test('an empty line that comes in two packets does not let what follows a body be parsed with it', async (t) => {
  let parsed = 0;
  let most = 0;
  const body = Buffer.alloc(60_000, 'x');
  const { dial } = await serve(
    t,
    (request, response) => {
      request.resume().on('end', () => echo(request, response));
    },
    () => {
      most = Math.max(most, ++parsed);
      setImmediate(() => {
        parsed = 0;
      });
    },
  );
  const paths = Array.from({ length: 200 }, (_, n) => `/${n}`);
  const head = `POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n`;
  for (const split of [1, 2, 3]) {
    const socket = await dial();
    socket.setNoDelay(true);
    const packets = [
      head.slice(0, -split),
      Buffer.concat([Buffer.from(head.slice(-split)), body.subarray(0, -1)]),
      Buffer.concat([body.subarray(-1), Buffer.from(paths.map(get).join(''))]),
    ];
    void (async () => {
      for (const packet of packets) {
        socket.write(packet);
        await new Promise((later) => setTimeout(later, 50));
      }
    })();
    assert.equal((await readAnswers(socket, 1 + paths.length)).length, 1 + paths.length);
    assert.ok(most <= 2, `${most} requests were parsed in one turn`);
  }
});

test('while the event loop is busy, the next of many requests of one connection waits for a moment', async (t) => {
  let answered = 0;
  let isBusy = false;
  const handle: Handle = (request, response) => {
    answered++;
    isBusy = answered === 3;
    echo(request, response);
  };
  const { dial } = await serve(t, handle, undefined, () => isBusy);
  const socket = await dial();
  t.mock.timers.enable({ apis: ['setTimeout'] });
  socket.write(get('/a').repeat(10));
  const answers = readAnswers(socket, 10);
  while (answered < 3) await new Promise(setImmediate);
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
  assert.equal(answered, 3, 'however many turns the loop makes');
  isBusy = false;
  t.mock.timers.tick(10);
  assert.equal((await answers).length, 10);
});
