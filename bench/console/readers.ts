// Many event streams in a process of their own, and the writes whose hints they hear: one clock for both.
import http from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Open {
  url: string;
  /** A stream for each, by organization. */
  keys: string[][];
}

export interface Write {
  /** The server that is written to. */
  url: string;
  owner: string;
  /** Whose streams are waited for. */
  organization: number;
  times: number;
}

export interface Heard {
  /** Milliseconds from sending a write until the first stream of another person had its hint, and until all had it. */
  first: number[];
  last: number[];
}

interface Reader {
  socket: Socket;
  heard: () => void;
}

const readers: Reader[][] = [];

process.on('message', async (message: { open?: Open; write?: Write }) => {
  if (message.open) process.send!(await open(message.open));
  if (message.write) process.send!(await write(message.write));
});
process.once('disconnect', () => process.exit());

async function open({ url, keys }: Open): Promise<number> {
  for (const [n, own] of keys.entries()) {
    readers[n] = [];
    for (let i = 0; i < own.length; i += 20) readers[n].push(...(await Promise.all(own.slice(i, i + 20).map((key) => reader(url, key)))));
  }
  return readers.flat().length;
}

/** A bare socket: the client’s own cost is not measured, and stays small beside the server’s. */
function reader(url: string, key: string): Promise<Reader> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port) }, () =>
      socket.write(`GET /api/v1/events HTTP/1.1\r\nHost: ${hostname}:${port}\r\nAuthorization: Bearer ${key}\r\n\r\n`),
    );
    const own: Reader = { socket, heard: () => {} };
    socket.setEncoding('latin1').on('error', reject);
    socket.on('close', () => reject(new Error('a stream ended')));
    socket.on('data', (text) => {
      if (text.includes('event: hello')) resolve(own);
      else if (text.includes('event: changed')) own.heard();
      else if (!text.includes(': beat')) reject(new Error(`a stream said: ${text}`));
    });
  });
}

async function write({ url, owner, organization, times }: Write): Promise<Heard> {
  const own = readers[organization]!;
  const found: Heard = { first: [], last: [] };
  for (let n = 0; n < times; n++) {
    await sleep(400 + ((n * 37) % 200)); // each finds the streams quiet: hints of one stream are 250 ms apart
    const began = performance.now();
    const arrived = own.map((each) => new Promise<number>((resolve) => (each.heard = () => resolve(performance.now() - began))));
    await patch(url, owner, `bench ${n}`);
    const all = await Promise.all(arrived);
    for (const each of own) each.heard = () => {};
    found.first.push(Math.min(...all));
    found.last.push(Math.max(...all));
  }
  return found;
}

const agent = new http.Agent({ keepAlive: true });

const patch = (url: string, key: string, name: string) =>
  new Promise<void>((resolve, reject) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const request = http.request(`${url}/api/v1/organization`, { method: 'PATCH', headers, agent }, (answer) => {
      if (answer.statusCode !== 200) reject(new Error(`a write was answered ${answer.statusCode}`));
      answer.resume().once('end', () => resolve());
    });
    request.once('error', reject).end(JSON.stringify({ name }));
  });
