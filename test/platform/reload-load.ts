import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Way } from '../../src/areas/clusters/test/support.ts';

// Clients of each area, which go on until they are told to end. Each counts what was acknowledged, and what it was told to send again. Everything
// else that does not go as it should is a failure.

export interface Tally {
  /** What was acknowledged, by client. */
  done: Map<string, string[]>;
  told: number;
  failures: string[];
}

export interface Load {
  tally: Tally;
  /** Resolves once each client has had this many more acknowledged. */
  progress(count: number): Promise<void>;
  end(): Promise<Tally>;
}

/** Told to send it again: not a failure. */
class Told extends Error {}

type Act = (n: number) => Promise<string>;

export function runLoad(clients: Record<string, Act>): Load {
  const tally: Tally = { done: new Map(Object.keys(clients).map((name) => [name, []])), told: 0, failures: [] };
  let isOver = false;
  const run = async (name: string, act: Act) => {
    for (let n = 0; !isOver; n++) {
      try {
        tally.done.get(name)!.push(await act(n));
      } catch (error) {
        if (error instanceof Told) tally.told++;
        else tally.failures.push(`${name}: ${(error as NodeJS.ErrnoException).code ?? ''} ${(error as Error).message}`);
      }
      await sleep(20);
    }
  };
  const running = Object.entries(clients).map(([name, act]) => run(name, act));
  return {
    tally,
    async progress(count) {
      const before = new Map([...tally.done].map(([name, done]) => [name, done.length]));
      const isFar = () => [...tally.done].every(([name, done]) => done.length >= before.get(name)! + count);
      while (!isFar() && tally.failures.length === 0) await sleep(20);
    },
    async end() {
      isOver = true;
      await Promise.all(running);
      return tally;
    },
  };
}

export interface Sent {
  status: number;
  headers: http.IncomingHttpHeaders;
  text: string;
}

/** One request; 503 with the code `stopping` is told. */
export async function ask(url: string, { body, ...options }: http.RequestOptions & { body?: string | Buffer } = {}): Promise<Sent> {
  const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
  const request = http.request(url, { ...options, headers: { ...options.headers, ...length } });
  request.end(body);
  const [answer] = (await once(request, 'response')) as [http.IncomingMessage];
  const text = (await answer.setEncoding('utf8').toArray()).join('');
  if (answer.statusCode === 503 && answer.headers['x-error-code'] === 'stopping') throw new Told();
  return { status: answer.statusCode!, headers: answer.headers, text };
}

function expect(sent: Sent, status: number): Sent {
  if (sent.status !== status) throw new Error(`${sent.status} instead of ${status}: ${sent.text}`);
  return sent;
}

/** Makes tokens: on a connection for each, or all on one. */
export const tokenMaker =
  (url: string, key: string, prefix: string, agent: http.Agent | false): Act =>
  async (n) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const sent = await ask(`${url}/api/v1/tokens`, { method: 'POST', agent, headers, body: JSON.stringify({ name: `${prefix}-${n}` }) });
    return (JSON.parse(expect(sent, 201).text) as { id: string }).id;
  };

const digestOf = (bytes: Buffer) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

/** Pushes layers in pieces. */
export const pusher =
  (url: string, authorization: string, repository: string): Act =>
  async () => {
    const headers = { authorization };
    const begun = expect(await ask(`${url}/v2/${repository}/blobs/uploads/`, { method: 'POST', agent: false, headers, body: '' }), 202);
    let place = new URL(begun.headers.location!, url).href;
    const pieces = [randomBytes(100_000), randomBytes(100_000)];
    for (const piece of pieces) {
      const sent = await ask(place, { method: 'PATCH', agent: false, headers, body: piece });
      place = new URL(expect(sent, 202).headers.location!, url).href;
    }
    const digest = digestOf(Buffer.concat(pieces));
    const end = `${place}${place.includes('?') ? '&' : '?'}digest=${digest}`;
    expect(await ask(end, { method: 'PUT', agent: false, headers, body: '' }), 201);
    return digest;
  };

/** A layer that is still being sent when the server is replaced: the client is told, asks how far it came, and sends the rest. */
export async function slowPush(url: string, authorization: string, repository: string, isReplaced: Promise<unknown>): Promise<Sent[]> {
  const headers = { authorization };
  const begun = expect(await ask(`${url}/v2/${repository}/blobs/uploads/`, { method: 'POST', agent: false, headers, body: '' }), 202);
  const place = new URL(begun.headers.location!, url).href;
  const layer = randomBytes(300_000);
  const request = http.request(place, { method: 'PATCH', agent: false, headers: { ...headers, 'content-length': layer.length } });
  request.write(layer.subarray(0, 200_000));
  const [answer] = (await once(request, 'response')) as [http.IncomingMessage];
  const told: Sent = { status: answer.statusCode!, headers: answer.headers, text: (await answer.setEncoding('utf8').toArray()).join('') };
  request.on('error', () => {}).destroy();
  await isReplaced;
  const known = expect(await ask(place, { agent: false, headers }), 204);
  const from = known.headers.range === undefined ? 0 : Number(known.headers.range.split('-')[1]) + 1;
  const on = new URL(known.headers.location ?? place, url).href;
  const finish = `${on}${on.includes('?') ? '&' : '?'}digest=${digestOf(layer)}`;
  return [told, await ask(finish, { method: 'PUT', agent: false, headers, body: layer.subarray(from) })];
}

/** Hands in mail by SMTP, a session for each message. */
export const mailer =
  (port: number, secret: string): Act =>
  async (n) => {
    const socket = connect(port, '127.0.0.1').on('error', () => {});
    const lines = createInterface({ input: socket })[Symbol.asyncIterator]();
    const hear = async (code: string) => {
      for (;;) {
        const { value = '(closed)', done } = await lines.next();
        if (String(value).startsWith('421 ')) throw new Told();
        if (done || !String(value).startsWith(code)) throw new Error(`SMTP: ${value} instead of ${code}`);
        if (value[3] === ' ') return String(value);
      }
    };
    try {
      await once(socket, 'connect');
      await hear('220');
      const login = Buffer.from(`\0apikey\0${secret}`).toString('base64');
      const steps = [
        ['EHLO client.example', '250'],
        [`AUTH PLAIN ${login}`, '235'],
        ['MAIL FROM:<ada@example.com>', '250'],
        ['RCPT TO:<bob@far.example>', '250'],
        ['DATA', '354'],
        [`From: ada@example.com\r\nTo: bob@far.example\r\nSubject: message ${n} of the load\r\n\r\nHello.\r\n.`, '250'],
      ];
      for (const [line, code] of steps) {
        socket.write(`${line}\r\n`);
        await hear(code!);
      }
      return `message ${n} of the load`;
    } finally {
      socket.destroy();
    }
  };

const maps = '/api/v1/namespaces/default/configmaps';

async function kubernetes(way: Way, path: string, method = 'GET', body?: unknown): Promise<http.IncomingMessage> {
  const text = body === undefined ? undefined : JSON.stringify(body);
  const request = https.request(`${way.server}${path}`, {
    method,
    ca: way.ca,
    agent: false,
    headers: { authorization: `Bearer ${way.token}`, ...(text && { 'content-type': 'application/json' }) },
  });
  request.end(text);
  const [answer] = (await once(request, 'response')) as [http.IncomingMessage];
  if (answer.statusCode === 503 && answer.headers['retry-after']) throw new Told();
  return answer;
}

/** Makes objects in a cluster. */
export const objectMaker =
  (way: Way): Act =>
  async (n) => {
    const name = `map-${n}`;
    const answer = await kubernetes(way, maps, 'POST', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } });
    const text = (await answer.setEncoding('utf8').toArray()).join('');
    if (answer.statusCode !== 201) throw new Error(`${answer.statusCode}: ${text}`);
    return name;
  };

/** Watches the objects of a cluster. A watch that ends is opened again where it ended; one that breaks off is a failure. */
export function watchObjects(t: TestContext, way: Way) {
  const seen = new Set<string>();
  const failures: string[] = [];
  let opened = 0;
  let version = '0';
  let isOver = false;
  let current: http.IncomingMessage | undefined;
  const take = ({ type, object }: { type: string; object: { metadata: { name: string; resourceVersion: string } } }) => {
    if (type === 'ERROR') throw new Error(JSON.stringify(object));
    version = object.metadata.resourceVersion;
    seen.add(object.metadata.name);
  };
  const watch = async () => {
    while (!isOver) {
      const answer = await kubernetes(way, `${maps}?watch=1&resourceVersion=${version}`);
      opened++;
      current = answer;
      let rest = '';
      for await (const text of answer.setEncoding('utf8')) {
        const lines = (rest + text).split('\n');
        rest = lines.pop()!;
        for (const line of lines) take(JSON.parse(line));
      }
      if (rest !== '') throw new Error('a watch ended in the middle of an event');
    }
  };
  const watching = watch().catch((error) => {
    if (!isOver) failures.push(`watch: ${error.code ?? ''} ${error.message}`);
  });
  const end = async () => {
    isOver = true;
    current?.destroy();
    await watching;
  };
  t.after(end);
  return { seen, failures, opened: () => opened, end };
}
