// Kubernetes' own programs as we run them (kine on our PostgreSQL, our front before the apiserver) beside the same programs with etcd, started by
// hand; in turns, on the same disk and machine. Needs Kubernetes' programs in QUARTERDECK_CLUSTER_BINARIES, and etcd in the PATH or by
// QUARTERDECK_BENCH_ETCD (a module of one's own that imports go.etcd.io/etcd/server/v3 builds it; `go install` refuses its replacements).

import { readdirSync, readFileSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { Agent } from 'node:https';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { listInstalled } from '../../src/drivers/process/index.ts';
import { postgresOf, startServer } from '../../test/harness/process.ts';
import type { Caller } from '../../test/harness/request.ts';
import { findEtcd, startByHand } from './by-hand.ts';
import { ask, findWay, makeReady, type Way } from './cluster-client.ts';
import { at, figure } from './figure.ts';
import { processorOf, processorOfFamily, shareOf, shareOfFamily } from './memory.ts';

const writes = 400;
/** From the last write until memory is looked at. */
const restMs = 15_000;

interface Seen {
  readyMs: number;
  /** In MiB, by what holds it. */
  memory: Record<string, number>;
  writesMs: number[];
  /** Processor seconds, by who had them: until it was ready, and until memory was looked at. */
  starting: Record<string, number>;
  processor: Record<string, number>;
}

export async function measureReal(rounds: number): Promise<void> {
  const binaries = process.env['QUARTERDECK_CLUSTER_BINARIES'] ?? '';
  const installed = binaries === '' ? [] : await listInstalled(binaries);
  const etcd = findEtcd();
  if (installed.length === 0 || !etcd) {
    const lacking = [
      ...(installed.length === 0 ? ['Kubernetes’ programs (name their folder in QUARTERDECK_CLUSTER_BINARIES)'] : []),
      ...(etcd ? [] : ['etcd 3 (in the PATH, or named by QUARTERDECK_BENCH_ETCD)']),
    ];
    console.log(`skipped: this machine lacks ${lacking.join(' and ')}`);
    return;
  }
  const { version, dir: programs } = installed.sort((a, b) => a.version.localeCompare(b.version, 'en', { numeric: true })).at(-1)!;
  console.log(`${version}, ${availableParallelism()} cores, shared by everything below; load average before: ${loadavg()[0]!.toFixed(1)}`);
  const dir = await mkdtemp(join(tmpdir(), 'qd-bench-'));
  await chmod(dir, 0o755);
  const { server, end } = startServer({ dir, env: { QUARTERDECK_CLUSTER_BINARIES: binaries, QUARTERDECK_LOG_LEVEL: 'error' } });
  const seen = { shared: [] as Seen[], dedicated: [] as Seen[], 'by hand': [] as Seen[] };
  try {
    await server.ready;
    const owner = await server.owner();
    const measureOurs = (datastore: object) => measureQuarterdeck(owner, server.pid, join(dir, 'data'), { version, datastore });
    const turns = [
      { name: 'shared', measure: () => measureOurs({ mode: 'shared' }) },
      { name: 'dedicated', measure: () => measureOurs({ mode: 'dedicated', storageGiB: 1 }) },
      { name: 'by hand', measure: () => measureByHand(etcd, { dir: programs, kine: '', version }, join(dir, 'by-hand')) },
    ] as const;
    // Once each for nothing: what is read from the disk then is in memory for all.
    for (const { measure } of turns) await measure();
    for (let round = 1; round <= rounds; round++)
      for (const { name, measure } of round % 2 === 1 ? turns : turns.toReversed()) {
        const load = loadavg()[0]!.toFixed(1);
        seen[name].push(await measure());
        tellRound(`${round} ${name}`, seen[name].at(-1)!, load);
      }
    await server.stopped();
  } finally {
    await end();
    await rm(dir, { recursive: true, force: true, maxRetries: 10 });
  }
  for (const datastore of ['shared', 'dedicated'] as const) {
    console.log('');
    const tell = (what: string, unit: string, most: number | undefined, show: (seen: Seen) => number) =>
      compare(`${datastore}: ${what}`, unit, most, seen[datastore].map(show), seen['by hand'].map(show));
    tell('started until it is ready', 's', 1.2, ({ readyMs }) => readyMs / 1000);
    tell(`memory ${restMs / 1000} s after ${writes} writes`, 'MiB', 1.1, ({ memory }) => sumOf(memory));
    tell(`a write, p50 of ${writes}`, 'ms', 3, ({ writesMs }) => at(writesMs, 0.5));
    tell('a write, p95', 'ms', undefined, ({ writesMs }) => at(writesMs, 0.95));
    tell('processor time until it is ready', 's', undefined, ({ starting }) => sumOf(starting));
    tell('processor time of all of it', 's', undefined, ({ processor }) => sumOf(processor));
  }
}

const sumOf = (parts: Record<string, number>) => Object.values(parts).reduce((sum, each) => sum + each, 0);
const listed = (parts: Record<string, number>, digits: number) =>
  Object.entries(parts)
    .map(([name, value]) => `${name} ${value.toFixed(digits)}`)
    .join(', ');

function tellRound(name: string, { readyMs, memory, writesMs, starting, processor }: Seen, load: string) {
  const write = [0.5, 0.95].map((share) => `p${share * 100} ${at(writesMs, share).toFixed(1)}`).join(', ');
  console.log(
    `${name.padEnd(14)} ready ${(readyMs / 1000).toFixed(2)} s; write ${write} ms; ${sumOf(memory).toFixed(0)} MiB (${listed(memory, 0)}); processor s until ready: ${listed(starting, 1)}, in all: ${listed(processor, 1)}; load ${load}`,
  );
}

function compare(what: string, unit: string, most: number | undefined, own: number[], other: number[]) {
  const tell = (name: string, all: number[]) => {
    const spread = `${Math.min(...all).toFixed(2)}–${Math.max(...all).toFixed(2)}`;
    figure(`${what}: ${name} (${spread})`, at(all, 0.5), unit);
  };
  tell('ours', own);
  tell('by hand', other);
  const ratio = at(own, 0.5) / at(other, 0.5);
  figure(`${what}: ratio of the medians`, ratio, '×', most ? `≤ ${most}` : '', most ? ratio <= most : undefined);
}

/** One after the other on one connection, as a person's client has it. */
async function timeWrites(way: Way): Promise<number[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const times: number[] = [];
  for (let n = 0; n < writes; n++) {
    const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `map-${n}` }, data: { text: 'x'.repeat(1_000) } };
    const began = performance.now();
    const status = await ask(way, agent, 'POST', '/api/v1/namespaces/default/configmaps', map);
    if (status !== 201) throw new Error(`a write was answered ${status}`);
    times.push(performance.now() - began);
  }
  agent.destroy();
  return times;
}

async function measureByHand(etcd: string, binaries: Parameters<typeof startByHand>[1], folder: string): Promise<Seen> {
  const { way, readyMs, pids, stop } = await startByHand(etcd, binaries, folder);
  const each = (show: (pid: number) => number) => Object.fromEntries(Object.entries(pids).map(([name, pid]) => [name, show(pid)]));
  try {
    const starting = each(processorOf);
    const writesMs = await timeWrites(way);
    await sleep(restMs);
    return { readyMs, writesMs, starting, memory: each(shareOf), processor: each(processorOf) };
  } finally {
    await stop();
  }
}

/** What PostgreSQL and the server need more than before the cluster counts for it. */
async function measureQuarterdeck(
  owner: Caller,
  pid: number,
  data: string,
  { version, datastore }: { version: string; datastore: object },
): Promise<Seen> {
  const postgres = (await postgresOf(data))!;
  const look = () => ({
    memory: { postgres: shareOfFamily(postgres), quarterdeck: shareOf(pid) },
    processor: { postgres: processorOfFamily(postgres), quarterdeck: processorOf(pid) },
  });
  const before = look();
  const began = performance.now();
  await makeReady(owner, 'bench', { orchestratorVersion: version, datastore }, 50);
  const readyMs = performance.now() - began;
  const pids = programsOf(data);
  const each = (show: (pid: number) => number) => Object.fromEntries(Object.entries(pids).map(([name, one]) => [name, show(one)]));
  const starting = { ...each(processorOf), ...growth(before.processor, look().processor) };
  const writesMs = await timeWrites(await findWay(owner, 'bench'));
  await sleep(restMs);
  const after = look();
  const seen = {
    readyMs,
    writesMs,
    starting,
    memory: { ...each(shareOf), ...growth(before.memory, after.memory) },
    processor: { ...each(processorOf), ...growth(before.processor, after.processor) },
  };
  await owner.delete('/clusters/bench');
  while ((await owner.get('/clusters/bench')).status !== 404) await sleep(50);
  return seen;
}

/** What became less for another reason, such as a collection of garbage, is not put to its credit. */
const growth = <K extends string>(before: Record<K, number>, after: Record<K, number>) =>
  Object.fromEntries((Object.keys(before) as K[]).map((name) => [name, Math.max(0, after[name] - before[name])]));

/** By the records of the only cluster. */
function programsOf(data: string): Record<string, number> {
  const run = join(data, 'clusters', 'run');
  const files = readdirSync(run, { recursive: true }).map(String);
  const records = files.filter((name) => name.endsWith('.record.json')).map((name) => JSON.parse(readFileSync(join(run, name), 'utf8')));
  return Object.fromEntries(records.map(({ kind, pid }: { kind: string; pid: number }) => [kind, pid]));
}
