import { type ChildProcess, fork } from 'node:child_process';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { keepPostgres } from '../../src/kernel/postgres/index.ts';
import { at, figure } from '../clusters/figure.ts';
import { processorOf } from '../clusters/memory.ts';
import { asked } from './measured-console.ts';
import type { Heard } from './readers.ts';
import type { Memory, Organization } from './server.ts';

/** A thousand streams, each of a token of its own: the worst case, since streams of one credential share what is known of its rights. */
const people = { organizations: 4, members: 25, tokens: 10 };
const writes = 60;
const idleSeconds = 30;
const mebibyte = 2 ** 20;

export async function measureStreams(): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), 'qd-bench-'));
  await chmod(dir, 0o755);
  const dataDir = join(dir, 'data');
  const postgres = await keepPostgres({ dataDir });
  const children: ChildProcess[] = [];
  const start = (file: string, options: string[] = []) => {
    const child = fork(fileURLToPath(new URL(`./${file}`, import.meta.url)), [], { execArgv: ['--expose-gc', ...options] });
    children.push(child);
    return child;
  };
  console.log(
    `${availableParallelism()} cores, shared by servers, database and readers; load average before: ${loadavg()[0]!.toFixed(1)}\n`,
  );
  try {
    const connection = postgres.connection;
    const server = start('server.ts');
    const { url } = await asked<{ url: string }>(server, { connection, dataDir });
    const organizations = await asked<Organization[]>(server, { people });
    const readers = start('readers.ts');
    const keys = organizations.map(({ tokens }) => tokens);

    // A few streams first: what the first one loads is no cost of the thousandth.
    await asked(readers, { open: { url, keys: [keys[0]!.slice(0, 10)] } });
    await sleep(2_000);
    const before = await asked<Memory>(server, { memory: true });
    const open = await asked<number>(readers, { open: { url, keys: keys.map((own, n) => (n ? own : own.slice(10))) } });
    await sleep(3_000);
    const after = await asked<Memory>(server, { memory: true });
    const residentMiB = (after.residentBytes - before.residentBytes) / mebibyte;
    const each = (after.residentBytes - before.residentBytes) / open / 1024;
    figure(`${open} idle streams: resident memory more than before`, residentMiB, 'MiB', '≤ 40', residentMiB <= 40);
    figure('  for each', each, 'KiB', '≤ 40', each <= 40);
    figure('  of it on the heap, after a collection', (after.usedBytes - before.usedBytes) / open / 1024, 'KiB');

    const spent = processorOf(server.pid!);
    await sleep(idleSeconds * 1_000);
    const share = ((processorOf(server.pid!) - spent) / idleSeconds) * 100;
    figure(`  processor time while idle, over ${idleSeconds} s`, share, '%', '≤ 2', share <= 2);

    const other = start('server.ts');
    const elsewhere = await asked<{ url: string }>(other, { connection, dataDir });
    for (const [where, at] of [
      ['at the same server', url],
      ['at another server', elsewhere.url],
    ] as const) {
      const { first, last } = await asked<Heard>(readers, {
        write: { url: at, owner: organizations[1]!.owner, organization: 1, times: writes },
      });
      tell(`a write ${where}, until the hint is on a stream`, first);
      tell(`  until it is on all ${keys[1]!.length} of the organization`, last, 300);
    }
  } finally {
    for (const child of children) child.kill('SIGKILL');
    await postgres.stop();
    await rm(dir, { recursive: true, force: true, maxRetries: 10 });
  }
}

function tell(what: string, times: readonly number[], most?: number) {
  figure(`${what}: p50`, at(times, 0.5), 'ms');
  const p95 = at(times, 0.95);
  if (most === undefined) figure(`${what}: p95`, p95, 'ms');
  else figure(`${what}: p95`, p95, 'ms', `≤ ${most}`, p95 <= most);
}
