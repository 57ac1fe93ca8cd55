// Load as keep-alive clients make it: so many connections, each asks again as soon as it is answered; no pipelining.
// A process of its own, so that it takes nothing from the server's event loop.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';

export interface Round {
  port: number;
  /** The path that every connection asks for, or one for each, in turn. */
  path: string | string[];
  method?: string;
  body?: string;
  headers: Record<string, string>;
  connections: number;
  seconds: number;
  /** How long a connection waits before it asks again; by default not at all. */
  pauseMs?: number;
}

export interface Result {
  perSecond: number;
  p50: number;
  p99: number;
}

/** The caller's side: a process that plays the rounds it is given. */
export function loadGenerator(): { play(round: Round): Promise<Result>; stop(): void } {
  const child = fork(fileURLToPath(import.meta.url), ['play']);
  return {
    play: async (round) => {
      child.send(round);
      const [answer] = (await once(child, 'message')) as [Result & { error?: string }];
      if (answer.error) throw new Error(answer.error);
      return answer;
    },
    stop: () => child.disconnect(),
  };
}

async function play({ port, path, method = 'GET', body = '', headers, connections, seconds, pauseMs = 0 }: Round): Promise<Result> {
  const sent = { host: `127.0.0.1:${port}`, ...headers, ...(body && { 'content-length': String(Buffer.byteLength(body)) }) };
  const lines = Object.entries(sent).map(([name, value]) => `${name}: ${value}\r\n`);
  const paths = [path].flat();
  const requestOf = (n: number) => Buffer.from(`${method} ${paths[n % paths.length]} HTTP/1.1\r\n${lines.join('')}\r\n${body}`);
  const began = performance.now();
  const until = began + seconds * 1000;
  const times: number[] = [];

  const one = (_: unknown, n: number) =>
    new Promise<void>((resolve, reject) => {
      const socket = connect(port, '127.0.0.1').setNoDelay(true);
      const request = requestOf(n);
      let askedAt = 0;
      let need = -1; // bytes of this answer that are still to come
      const ask = () => {
        askedAt = performance.now();
        need = -1;
        socket.write(request);
      };
      const take = (chunk: Buffer) => {
        if (need < 0) {
          const head = chunk.indexOf('\r\n\r\n');
          if (head < 0) return reject(new Error('an answer’s head came in pieces; this client does not put it together'));
          const text = chunk.toString('latin1', 0, head);
          if (!text.startsWith('HTTP/1.1 200')) return reject(new Error(text.split('\r\n')[0]));
          need = head + 4 + Number(/\r\ncontent-length: (\d+)/i.exec(text)![1]);
        }
        need -= chunk.length;
        if (need > 0) return;
        const now = performance.now();
        times.push(now - askedAt);
        if (now < until) return pauseMs ? void setTimeout(ask, pauseMs) : ask();
        socket.destroy();
        resolve();
      };
      socket.on('connect', ask).on('data', take).on('error', reject);
    });
  await Promise.all(Array.from({ length: connections }, one));

  times.sort((a, b) => a - b);
  const at = (share: number) => times[Math.floor((times.length - 1) * share)]!;
  return { perSecond: (times.length / (performance.now() - began)) * 1000, p50: at(0.5), p99: at(0.99) };
}

if (process.argv[2] === 'play' && process.send) {
  process.on('message', (round: Round) => {
    play(round).then(
      (result) => process.send!(result),
      (error: Error) => process.send!({ error: error.message }),
    );
  });
  process.on('disconnect', () => process.exit());
}
