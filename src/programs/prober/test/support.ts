import { PassThrough } from 'node:stream';
import { makeLog } from '../../../kernel/log.ts';
import type { Assignment, HttpTarget, TcpTarget } from '../../../protocols/agent.ts';
import type { Clock } from '../clock.ts';

/** A prober's clock in the test's hands. */
export interface ManualClock extends Clock {
  /** Runs what is due on the way, each at its time, and lets promises settle in between. */
  advance(ms: number): Promise<void>;
  /** Time that passes while nothing can run. */
  stall(ms: number): void;
  setWall(wall: number): void;
}

const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

export function manualClock({ wall = 1_800_000_000_000, sinceBoot = 5_000_000 } = {}): ManualClock {
  let now = 1_000;
  let wallAhead = wall - now;
  const bootAhead = sinceBoot - now;
  const timers = new Map<symbol, { at: number; act: () => void }>();
  const due = (until: number) => {
    let first: symbol | undefined;
    for (const [key, { at }] of timers) if (at <= until && (first === undefined || at < timers.get(first)!.at)) first = key;
    return first;
  };
  return {
    now: () => now,
    sinceBoot: () => now + bootAhead,
    wall: () => now + wallAhead,
    at: (at, act) => {
      const key = Symbol('timer');
      timers.set(key, { at, act });
      return () => timers.delete(key);
    },
    async advance(ms) {
      const until = now + ms;
      await settle();
      for (let key = due(until); key !== undefined; key = due(until)) {
        const { at, act } = timers.get(key)!;
        timers.delete(key);
        now = Math.max(now, at);
        act();
        await settle();
      }
      now = until;
    },
    stall: (ms) => {
      now += ms;
    },
    setWall: (to) => {
      wallAhead = to - now;
    },
  };
}

export const quiet = makeLog('silent');

/** A log whose lines can be looked at. */
export function heard() {
  const lines: Record<string, unknown>[] = [];
  const sink = new PassThrough();
  sink.setEncoding('utf8').on('data', (text: string) => {
    for (const line of text.split('\n').filter(Boolean)) lines.push(JSON.parse(line));
  });
  return { log: makeLog('debug', sink), lines };
}

const common = {
  epoch: 1,
  intervalSeconds: 60,
  timeoutMs: 1000,
  confirmations: 2,
  streak: { fail: 0, pass: 0, verdict: 'unknown' },
} as const;

export const httpTarget = (url: string, more: Partial<HttpTarget> = {}): HttpTarget => ({
  url,
  method: 'GET',
  headers: {},
  followRedirects: true,
  expectStatus: ['2xx'],
  ...more,
});

export const httpMonitor = (id: string, more: Partial<Omit<Assignment, 'kind' | 'target'>> & { target?: HttpTarget } = {}): Assignment =>
  ({
    ...common,
    id,
    kind: 'http',
    target: httpTarget(`http://${id.replaceAll('_', '-')}.example/`),
    ...more,
  }) as Assignment;

export const tcpTarget = (port: number, more: Partial<TcpTarget> = {}): TcpTarget => ({ host: '127.0.0.1', port, tls: false, ...more });
