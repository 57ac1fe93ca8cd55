import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { connect, type TLSSocket } from 'node:tls';
import { makePeers } from '../../../../kernel/http/peer.ts';
import { makeLog } from '../../../../kernel/log.ts';
import { makeAuthority, makeLeaf, newKey } from '../../engine/issue.ts';
import { makeFront } from '../../planes/front/index.ts';

const ca = { ...makeAuthority('kubernetes', newKey()), commonName: 'kubernetes' };
const serving = makeLeaf(ca, { subject: { commonName: 'kube-apiserver' }, usage: 'server', hosts: ['127.0.0.1'] });

interface Parts {
  serve?: (request: IncomingMessage, response: ServerResponse) => void;
  talk?: (request: IncomingMessage, socket: Duplex, head: Buffer) => void;
  unreadMs?: number;
}

/** A cluster's port, with any control plane behind it. */
async function open(t: TestContext, { serve = () => {}, talk, unreadMs }: Parts): Promise<() => Promise<TLSSocket>> {
  const front = makeFront(makeLog('silent'), makePeers([]), unreadMs === undefined ? {} : { unreadMs });
  const door = await front.open({
    id: 'cls_1',
    listen: { host: '127.0.0.1', port: 0 },
    serverName: undefined,
    maxConnections: () => 30,
    maxInflight: () => 30,
    keys: { certificate: serving.certificate, key: serving.key, authority: ca.certificate },
    serve,
    ...(talk ? { upgrade: talk } : {}),
  });
  t.after(() => door.close());
  return async () => {
    const socket = connect({ host: '127.0.0.1', port: door.port, ca: ca.certificate }).on('error', () => {});
    t.after(() => socket.destroy());
    await once(socket, 'secureConnect');
    return socket;
  };
}

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;

async function readUntil(socket: TLSSocket, isEnough: (text: string) => boolean): Promise<string> {
  let text = '';
  for await (const chunk of socket) {
    text += chunk;
    if (isEnough(text)) break;
  }
  return text;
}

const turns = async (count: number) => {
  for (let turn = 0; turn < count; turn++) await new Promise((later) => setImmediate(later));
};

const turnsUntil = async (isDone: () => boolean) => {
  while (!isDone()) await turns(1);
};

test('a thousand pipelined requests do not delay other callers', async (t) => {
  const order: string[] = [];
  let wake = () => {};
  const dial = await open(t, {
    serve: ({ url }, response) => {
      order.push(url!);
      if (order.length === 1) wake(); // the other caller asks once the first of the bulk is under way
      response.end(`answer ${url}\n`);
    },
  });
  const [bulk, other] = await Promise.all([dial(), dial()]);
  wake = () => void other.write(get('/other'));
  const paths = Array.from({ length: 1_000 }, (_, n) => `/${n}`);
  bulk.write(paths.map(get).join(''));
  const [text] = await Promise.all([
    readUntil(bulk, (said) => said.includes('answer /999\n')),
    readUntil(other, (said) => said.includes('answer /other\n')),
  ]);
  assert.deepEqual(
    text.split('\n').filter((line) => line.startsWith('answer ')),
    paths.map((path) => `answer ${path}`),
  );
  assert.ok(order.indexOf('/other') < 100, `${order.indexOf('/other')} of the bulk came first`);
});

test('a request starts once the previous one on its connection is answered', async (t) => {
  const underWay: ServerResponse[] = [];
  const dial = await open(t, { serve: (_, response) => void underWay.push(response) });
  const socket = await dial();
  for (let n = 0; n < 10; n++) socket.write(get(`/${n}`));
  for (let round = 0; round < 5; round++) {
    await turnsUntil(() => underWay.length > 0);
    await turns(20);
    assert.equal(underWay.length, 1);
    underWay.shift()!.end('answer\n');
  }
});

test('garbage after a request is refused after the response, and the connection is closed', async (t) => {
  const dial = await open(t, { serve: ({ url }, response) => void response.end(`answer ${url}\n`) });
  const socket = await dial();
  socket.write(`${get('/first')}nonsense\r\n\r\n${get('/never')}`);
  const text = await readUntil(socket, () => false);
  assert.match(text, /^HTTP\/1\.1 200[\s\S]*answer \/first\n[\s\S]*HTTP\/1\.1 400/);
  assert.doesNotMatch(text, /never/);
});

test('an upgrade after pipelined requests loses no byte', async (t) => {
  const dial = await open(t, {
    serve: ({ url }, response) => void setTimeout(() => response.end(`answer ${url}\n`), 20),
    talk: (_, socket, head) => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n');
      if (head.length > 0) socket.write(head);
      setTimeout(() => socket.pipe(socket), 20);
    },
  });
  const words = `first\r\n\r\n${'x'.repeat(200_000)}\r\n\r\nlast`;
  const upgrade = (length: string) => `POST /exec HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n${length}\r\n`;
  for (const [what, asked] of [
    ['without a body', upgrade('')],
    ['with one', `${upgrade('Content-Length: 8\r\n')}\r\n\r\nbody`],
  ] as const) {
    for (const before of ['', get('/a') + get('/b')]) {
      const socket = await dial();
      socket.write(`${before}${asked}${words}`);
      const text = await readUntil(socket, (said) => said.endsWith('last'));
      const [, echoed] = text.split('Upgrade: SPDY/3.1\r\n\r\n');
      assert.equal(echoed?.length, words.length, what);
      assert.ok(echoed === words, what);
      socket.destroy();
    }
  }
});

test('an unread response is aborted; an unread terminal is not', async (t) => {
  const large = Buffer.alloc(32 * 2 ** 20);
  let talking: Duplex | undefined;
  const dial = await open(t, {
    unreadMs: 300,
    serve: (_, response) => void response.end(large),
    talk: (_, socket) => {
      talking = socket;
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n');
      socket.write(large);
    },
  });
  const terminal = await dial();
  terminal.write('POST /exec HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n');
  await once(terminal, 'data');
  terminal.pause();
  const silent = await dial();
  let read = 0;
  silent.on('data', (chunk: Buffer) => {
    read += chunk.length;
  });
  silent.write(get('/large'));
  await once(silent, 'data');
  silent.pause();
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  silent.resume();
  await turnsUntil(() => silent.destroyed || read >= large.length);
  assert.ok(read < large.length, `it was sent ${read} bytes although it had not read`);
  assert.equal(talking?.destroyed, false);
});
