// A flood of sign-ins by password, as many attackers make it: every attempt with an address and an account of its own, at a fixed rate whatever
// the server answers. A process of its own, so that it takes nothing from the server's event loop.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import http from 'node:http';
import { fileURLToPath } from 'node:url';

export interface Flood {
  /** Ends it; answers by status. */
  stop(): Promise<Record<string, number>>;
}

/** The server must trust the proxy that this pretends to be. */
export function startFlood(port: number, perSecond: number): Flood {
  const child = fork(fileURLToPath(import.meta.url), ['flood', String(port), String(perSecond)]);
  return {
    stop: async () => {
      child.send('stop');
      const [counts] = (await once(child, 'message')) as [Record<string, number>];
      child.disconnect();
      return counts;
    },
  };
}

function flood(port: number, perSecond: number): void {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 200 });
  const counts: Record<string, number> = {};
  const count = (status: string) => {
    counts[status] = (counts[status] ?? 0) + 1;
  };
  const start = process.pid * 65_536;
  let sent = 0;
  const attempt = () => {
    const n = start + sent++;
    const body = `email=u${n}%40example.com&password=wrong+horse+battery+staple`;
    const headers = {
      'content-type': 'application/x-www-form-urlencoded',
      'content-length': body.length,
      'sec-fetch-site': 'same-origin',
      'x-forwarded-proto': 'https',
      'x-forwarded-for': `198.18.${Math.floor(n / 256) % 256}.${n % 256}`,
    };
    const request = http.request({ port, host: '127.0.0.1', path: '/sign-in', method: 'POST', agent, headers }, (answer) => {
      count(String(answer.statusCode));
      answer.resume();
    });
    request.on('error', () => count('error'));
    request.end(body);
  };
  const timer = setInterval(() => {
    for (let i = 0; i < perSecond / 50; i++) attempt();
  }, 20);
  process.on('message', () => {
    clearInterval(timer);
    process.send!(counts);
  });
  process.on('disconnect', () => process.exit());
}

if (process.argv[2] === 'flood' && process.send) flood(Number(process.argv[3]), Number(process.argv[4]));
