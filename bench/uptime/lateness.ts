import { setTimeout as sleep } from 'node:timers/promises';
import { figure, quantile } from './figure.ts';
import { program, residentMiB } from './programs.ts';

const monitors = 10_000;
const intervalSeconds = 60;

interface Report {
  late: number[];
  results: number;
  bad: number;
  cpu: { user: number; system: number };
}

/** A prober with ten thousand monitors: how late their checks start over a whole interval, and what that takes. */
export async function lateness(): Promise<void> {
  const { first: target } = await program<{ http: number }>('target.ts');
  const { child, lines } = await program('our-agent.ts', String(target.http), String(monitors), String(intervalSeconds));
  const report = async () => {
    child.stdin!.write('report\n');
    return JSON.parse((await lines.next()).value) as Report;
  };
  // The first checks are made at once, in 20 s, and the next ones at their places in the interval and the time-out after that.
  await sleep(90_000);
  const before = await report();
  await sleep(intervalSeconds * 1000);
  const { late, results, bad, cpu } = await report();
  const p99 = quantile(late, 0.99);
  figure(`${monitors} monitors each ${intervalSeconds} s: checks in an interval`, results, '');
  figure('    of which did not pass', bad, '');
  figure('    lateness p50', quantile(late, 0.5), 'ms');
  figure('             p99', p99, 'ms', '< 250', p99 < 250 && results > monitors * 0.95 && bad === 0);
  figure('             worst', quantile(late, 1), 'ms');
  figure('    CPU of the prober', (cpu.user + cpu.system - before.cpu.user - before.cpu.system) / 1e4 / intervalSeconds, '% of core');
  figure('    memory of the prober', residentMiB(child.pid!), 'MiB');
}
