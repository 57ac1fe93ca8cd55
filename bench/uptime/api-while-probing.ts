import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { nameServer, type Zone } from '../../src/kernel/guard/test/name-server.ts';
import type { Caller } from '../../test/harness/request.ts';
import { figure, quantile } from './figure.ts';
import { program } from './programs.ts';
import { good, withServer } from './server.ts';

const intervalSeconds = 5;
const perSecond = 200;
const monitors = perSecond * intervalSeconds;
const hosts = 100;
const seconds = 15;
const asksPerSecond = 50;

/** Answers of the API, asked at an even pace, in milliseconds. */
async function answers(owner: Caller, path: string): Promise<number[]> {
  const times: number[] = [];
  const began = performance.now();
  await Promise.all(
    Array.from({ length: seconds * asksPerSecond }, async (_, at) => {
      await sleep(Math.max(0, began + (at * 1000) / asksPerSecond - performance.now()));
      const sent = performance.now();
      await good(owner.get(path));
      times.push(performance.now() - sent);
    }),
  );
  return times;
}

/** The API while the server's own prober makes 200 checks a second, beside the same API at rest. */
export async function apiWhileProbing(): Promise<void> {
  const { first: target } = await program<{ http: number }>('target.ts');
  const zone: Record<string, Zone[string]> = {};
  for (let at = 0; at < hosts; at++) zone[`h${at}.example`] = { A: ['127.0.0.1'], AAAA: [] };
  const closers: (() => unknown)[] = [];
  const names = await nameServer({ after: (act: () => unknown) => closers.push(act) } as unknown as TestContext, zone);
  const env = {
    QUARTERDECK_UPTIME_MONITOR_QUOTA: String(monitors + 1),
    QUARTERDECK_UPTIME_INTERVALS: String(intervalSeconds),
    QUARTERDECK_ALLOW_PRIVATE_CIDRS: 'uptime=127.0.0.0/8',
    QUARTERDECK_DNS_SERVERS: names.address,
  };
  try {
    await withServer(env, async ({ owner, database }) => {
      const monitor = (at: number, enabled: boolean) => ({
        name: `bench ${at}`,
        kind: 'http',
        enabled,
        intervalSeconds,
        timeoutMs: 2_000,
        vantages: ['local'],
        http: { url: `http://h${at % hosts}.example:${target.http}/` },
      });
      const { id } = await good(owner.post('/uptime/monitors', monitor(0, false)));
      const path = `/uptime/monitors/${id}`;
      await answers(owner, path);
      const idle = quantile(await answers(owner, path), 0.99);

      for (let at = 1; at <= monitors; at++) await good(owner.post('/uptime/monitors', monitor(at, true)));
      const stored = async () =>
        (await database.query('select count(*)::int as n, count(*) filter (where outcome <> 0)::int as bad from uptime.check_result'))
          .rows[0];
      while ((await stored()).n < monitors) await sleep(500);
      const before = await stored();
      const began = performance.now();
      const busy = quantile(await answers(owner, path), 0.99);
      const after = await stored();
      const rate = (after.n - before.n) / ((performance.now() - began) / 1000);
      figure('checks a second, stored', rate, '', `≥ ${perSecond * 0.9}`, rate >= perSecond * 0.9);
      figure('    of which did not pass', after.bad - before.bad, '');
      figure('GET of a monitor, p99: at rest', idle, 'ms');
      figure('                       while probing', busy, 'ms');
      figure('                       while probing / at rest', busy / idle, '', '≤ 2', busy / idle <= 2);
    });
  } finally {
    for (const close of closers) close();
  }
}
