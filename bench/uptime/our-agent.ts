// A process of its own: a whole prober with so many monitors, each on a host of its own, before a server that takes everything.
// Answers a line with `report` by how late its checks started since the line before.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { makeGuard, parseAllow } from '../../src/kernel/guard/index.ts';
import { makeLog } from '../../src/kernel/log.ts';
import { startAgent } from '../../src/programs/prober/agent.ts';
import { systemClock } from '../../src/programs/prober/clock.ts';
import type { Link } from '../../src/programs/prober/delivery/link.ts';
import { noStateStore } from '../../src/programs/prober/delivery/saved-state.ts';
import type { Assignment } from '../../src/protocols/agent.ts';

const [port, count, intervalSeconds] = process.argv.slice(2).map(Number) as [number, number, number];
const assignments: Assignment[] = Array.from({ length: count }, (_, at) => ({
  id: `mon_01JCBENCH${String(at).padStart(17, '0')}`,
  epoch: 1,
  intervalSeconds,
  timeoutMs: 10_000,
  confirmations: 2,
  streak: { fail: 0, pass: 0, verdict: 'unknown' },
  kind: 'http',
  target: { url: `http://h${at}.example:${port}/`, method: 'GET', headers: {}, followRedirects: true, expectStatus: ['2xx'] },
}));

const seen = { late: [] as number[], results: 0, bad: 0 };
const link: Link = {
  session: async () => ({ vantage: 'bench', label: 'Bench', now: 0, seq: 0, userAgent: 'Quarterdeck-uptime/1' }),
  assignments: (_instance, since, signal) =>
    since === undefined
      ? Promise.resolve({ cursor: '1', full: true, assignments, removed: [], unknown: 0 })
      : new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  results: async ({ results }) => {
    seen.results += results.length;
    seen.bad += results.filter(({ outcome }) => outcome !== 'pass').length;
  },
  close: () => {},
};
const dir = mkdtempSync(join(tmpdir(), 'qd-bench-agent-'));
const resolver = { resolve: async () => [{ address: '127.0.0.1' }] };
await startAgent({
  link,
  guard: makeGuard({ allow: parseAllow('127.0.0.0/8'), resolver }),
  clock: systemClock,
  log: makeLog('warn'),
  bufferDir: dir,
  canaries: [],
  stateStore: noStateStore,
  version: 'bench',
  onStart: (lateMs) => seen.late.push(lateMs),
});
console.log('{}');
for await (const _ of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify({ ...seen, cpu: process.cpuUsage() }));
  Object.assign(seen, { late: [], results: 0, bad: 0 });
}
rmSync(dir, { recursive: true, force: true });
process.exit(0);
