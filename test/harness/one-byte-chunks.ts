import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { parse, type WireAnswer } from '../conformance/wire.ts';

// Bodies that are sent one byte a chunk. All of a body but its end is sent; once the other side has read that far, what it holds in memory
// is measured; then comes the end. Both sides are in this process: what is sent is therefore made before the measuring begins.

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** What this process holds once everything that nobody needs is gone. */
export async function held(): Promise<number> {
  // Whoever waits for their turn gets it first.
  for (let turns = 0; turns < 100; turns++) await turn();
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Four times the bytes, and what a process may hold more or less at any time. Kept chunk by chunk they are 200 times the bytes. */
export function assertCostsItsBytes(kept: number, bytes: number): void {
  assert.ok(kept < 4 * bytes + 3 * 2 ** 20, `${kept} bytes are held for ${bytes} that came`);
}

/** RFC 9112, 7.1; without the last chunk. */
export function inOneByteChunks(body: string): Buffer {
  const bytes = Buffer.from(body);
  const chunks = Buffer.from('1\r\n.\r\n'.repeat(bytes.length));
  for (const [at, byte] of bytes.entries()) chunks[6 * at + 3] = byte;
  return chunks;
}
const lastChunk = '0\r\n\r\n';

/** Everything has been read, or the connection was closed instead. */
async function hasRead(socket: Socket, bytes: number): Promise<void> {
  while (socket.bytesRead < bytes && !socket.destroyed) await turn();
}

/** Nothing is read any more, though more is there to be read: for senders and readers in this process, who need nobody else for it. */
export async function hasStopped(sockets: Socket[]): Promise<void> {
  const total = () => sockets.reduce((sum, { bytesRead }) => sum + bytesRead, 0);
  for (let [seen, turns] = [total(), 0]; turns < 2_000; turns++) {
    if (total() !== seen) [seen, turns] = [total(), 0];
    await turn();
  }
}

export interface Sent {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: string;
}

interface FloodOptions {
  /** The server does not read them, for now. */
  isUnread?: boolean;
  /** Called when the measuring is over and the ends are about to come. */
  measured?: () => void;
}

export interface Flood {
  /** What the server holds while it has everything but the ends. */
  kept: number;
  bytes: number;
  answers: WireAnswer[];
}

/** Requests on connections of their own, all at once. */
export async function flood(url: string, requests: Sent[], { isUnread = false, measured }: FloodOptions = {}): Promise<Flood> {
  const name = `flood-${Math.random()}`;
  const wires = requests.map(({ method, path, headers, body }, n) => {
    const all = { host: new URL(url).host, connection: 'close', 'transfer-encoding': 'chunked', 'x-flood': `${name} ${n}`, ...headers };
    const lines = Object.entries(all).map(([header, value]) => `${header}: ${value}\r\n`);
    return Buffer.concat([Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`), inOneByteChunks(body)]);
  });
  const theirs: Socket[] = [];
  const sentOn = new Map<Socket, number>();
  const onRequest = (message: unknown) => {
    const { request, socket } = message as { request: IncomingMessage; socket: Socket };
    const [flooding, n] = String(request.headers['x-flood']).split(' ');
    if (flooding !== name) return;
    theirs.push(socket);
    sentOn.set(socket, wires[Number(n)]!.length);
  };
  subscribe('http.server.request.start', onRequest);
  try {
    const before = await held();
    const ours = wires.map((wire) => {
      const socket = connect(Number(new URL(url).port), '127.0.0.1');
      socket.write(wire);
      return { socket, answer: answerOn(socket) };
    });
    while (theirs.length < requests.length) await turn();
    await (isUnread ? hasStopped(theirs) : Promise.all(theirs.map((socket) => hasRead(socket, sentOn.get(socket)!))));
    const kept = (await held()) - before;
    measured?.();
    for (const { socket } of ours) socket.write(lastChunk);
    const answers = await Promise.all(ours.map(({ answer }) => answer));
    return { kept, bytes: requests.reduce((sum, { body }) => sum + Buffer.byteLength(body), 0), answers };
  } finally {
    unsubscribe('http.server.request.start', onRequest);
  }
}

async function answerOn(socket: Socket): Promise<WireAnswer> {
  let text = '';
  socket.on('data', (chunk) => (text += chunk.toString('latin1'))).on('error', () => {});
  await once(socket, 'close');
  return parse(text);
}

export interface OneByteServer {
  url: string;
  /** What our side holds once `ask` has been called and all but the end of so many answers is read. */
  kept(answers: number, ask: () => void, options?: { isUnread?: boolean }): Promise<number>;
  /** The end, of these answers and of all that follow. */
  finish(): void;
}

/** Answers every question with this body, one byte a chunk, and withholds its end until told; a HEAD with its headers alone. */
export async function oneByteServer(
  t: TestContext,
  body: string | ((url: string) => string),
  headers: Record<string, string> = {},
): Promise<OneByteServer> {
  const open = new Set<Socket>();
  const answered = new Set<Socket>();
  let isFinished = false;
  const server = createServer((socket) => {
    open.add(socket);
    socket.on('error', () => {}).on('close', () => open.delete(socket));
    socket.once('data', (asked) => {
      if (asked.toString('latin1').startsWith('HEAD ')) return void socket.end(head);
      socket.write(wire);
      answered.add(socket);
      if (isFinished) socket.write(lastChunk);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const lines = Object.entries({ 'transfer-encoding': 'chunked', ...headers }).map(([header, value]) => `${header}: ${value}\r\n`);
  const head = Buffer.from(`HTTP/1.1 200 OK\r\n${lines.join('')}\r\n`);
  const wire = Buffer.concat([head, inOneByteChunks(typeof body === 'string' ? body : body(url))]);

  const readers: Socket[] = [];
  const onSocket = (message: unknown) => void readers.push((message as { socket: Socket }).socket);
  subscribe('net.client.socket', onSocket);
  t.after(() => {
    unsubscribe('net.client.socket', onSocket);
    server.close();
    for (const socket of open) socket.destroy();
  });
  return {
    url,
    kept: async (answers, ask, { isUnread = false } = {}) => {
      const before = await held();
      ask();
      while (answered.size < answers) await turn();
      const ports = new Set([...answered].map(({ remotePort }) => remotePort));
      const ours = readers.filter(({ localPort }) => ports.has(localPort));
      await (isUnread ? hasStopped(ours) : Promise.all(ours.map((socket) => hasRead(socket, wire.length))));
      return (await held()) - before;
    },
    finish: () => {
      isFinished = true;
      for (const socket of answered) socket.write(lastChunk);
    },
  };
}
