import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { readdir, readFile, readlink, rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import type { Identity } from '../../../kernel/programs/identity.ts';
import { boundLog, lastLine, logSince } from '../../../kernel/programs/log-file.ts';
import { endProcess, isRunning, markOf, type ProcessMark } from '../../../kernel/programs/process.ts';
import { readRecord, startProgram, writeRecord } from '../../../kernel/programs/start.ts';
import type { ProgramKind, WantedProgram } from '../rules/programs.ts';
import { workDirOf } from './users.ts';

/** The record file of a program that was started for a cluster. */
export interface ProgramRecord extends ProcessMark {
  kind: ProgramKind;
  name: string;
  log: string;
  hash: string;
  port: number;
  logOffset: number;
  /** How often a program of this name was started before. */
  restarts: number;
}

const recordSuffix = '.record.json';
const recordPath = (dir: string, name: string) => join(dir, `${name}${recordSuffix}`);

/** Records of programs in this directory, started by this server process or an earlier one. */
export async function readRecords(dir: string): Promise<ProgramRecord[]> {
  const names = (await listOrEmpty(dir)).filter((name) => name.endsWith(recordSuffix));
  const found = await Promise.all(names.map((name) => readRecord<ProgramRecord>(join(dir, name))));
  return found.filter((record) => record !== undefined);
}

/** Throws for any error but ENOENT: a program whose record cannot be read at the moment must not count as unrecorded. */
const listOrEmpty = (dir: string): Promise<string[]> =>
  readdir(dir).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });

/** A port that is free now. If another program takes it first, ours exits and is started with another port. */
const findFreePort = async (): Promise<number> => (await listenOnce(0))!;

/** Undefined: it is taken. */
async function listenOnce(wanted: number): Promise<number | undefined> {
  const server = createServer();
  server.listen(wanted, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    return undefined;
  }
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** Below the ports that systems choose for connections, so that they are free again after a restart of the machine. */
const lastingPorts = { first: 10_240, end: 32_000 };

/** Ports that are free now, for programs that keep theirs for good. */
export async function findLastingPorts(count: number): Promise<number[]> {
  const found = new Set<number>();
  for (let attempt = 0; found.size < count; attempt++) {
    if (attempt > 1_000) throw new Error(`no ${count} ports from ${lastingPorts.first} to ${lastingPorts.end} are free`);
    const port = randomInt(lastingPorts.first, lastingPorts.end);
    if ((await listenOnce(port)) !== undefined) found.add(port);
  }
  return [...found];
}

/** Where, and as which user, a program is started. */
interface StartDirectory {
  dir: string;
  workDir: string;
  identity: Identity;
}

interface StartOptions {
  port: number;
  restarts: number;
  entered: (pid: number) => Promise<void>;
}

/** The record is written after the start: a kill in between leaves a process that `stopUnrecorded` finds. */
export async function startAndRecord({ dir, workDir, identity }: StartDirectory, wanted: WantedProgram, known: StartOptions) {
  const { kind, name, hash, program, env } = wanted;
  const log = join(dir, `${wanted.log}.log`);
  const port = wanted.listens === 'free' ? known.port || (await findFreePort()) : 0;
  const { entered } = known;
  const started = await startProgram({
    identity,
    program,
    args: wanted.args(port),
    env: { ...env, [ownerVariable]: dir },
    cwd: workDir,
    log,
    entered,
  });
  const record: ProgramRecord = { ...started, kind, name, log, hash, port, restarts: known.restarts };
  await writeRecord(recordPath(dir, name), record);
  return record;
}

/** Bounds the logs of running programs. Goes by file names, because records could name other paths. */
export async function boundLogs(dir: string, limit?: number): Promise<void> {
  const names = (await readdir(dir).catch(() => [])).filter((name) => /^(etcd-m\d+|(kine|kube-[a-z-]+)(-\d+)?)\.log$/.test(name));
  for (const name of names) await boundLog(join(dir, name), limit);
}

/** The program's last log line, for the operator. */
export const lastLogLine = async ({ log, logOffset }: ProgramRecord): Promise<string> =>
  lastLine(await logSince(log, logOffset).catch(() => '')).slice(0, 500);

/** Stops a program and removes its record. Throws, and keeps the record, if the program does not exit. */
export async function stopProgram(dir: string, record: ProgramRecord, gentleMs = 10_000): Promise<void> {
  const how = await endProcess(record, { gentleMs });
  if (how === 'still there') throw new Error(`${record.name} (pid ${record.pid}) could not be ended`);
  const path = recordPath(dir, record.name);
  const kept = await readRecord<ProgramRecord>(path);
  // The record may already be its successor's.
  if (kept?.pid === record.pid && kept.started === record.started) await rm(path, { force: true });
}

/** Set in the environment of every program: an operator's shell in the same directory does not have it. */
export const ownerVariable = 'QUARTERDECK_CLUSTER_RUN';

/** Stops programs in this directory without a record: the server was killed between the start and the write of the record. */
export async function stopUnrecorded(dir: string, records: readonly ProgramRecord[]): Promise<number> {
  if (process.platform !== 'linux') return 0;
  const known = new Set(records.map(({ pid }) => pid));
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const workingDirs = await Promise.all(pids.map((pid) => readlink(`/proc/${pid}/cwd`).catch(() => '')));
  const here = pids.filter((pid, n) => [dir, workDirOf(dir)].includes(workingDirs[n]!) && !known.has(pid));
  const environments = await Promise.all(here.map((pid) => readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '')));
  const unrecorded = here.filter((_, n) => environments[n]!.split('\0').includes(`${ownerVariable}=${dir}`));
  const marks = await Promise.all(unrecorded.map(markOf));
  await Promise.all(marks.map((mark) => mark && endProcess(mark, { gentleMs: 2_000 })));
  return unrecorded.length;
}

/** Stops all programs of this directory and the `known` ones: clients of apiservers first, their store last. */
export async function stopAll(dir: string, known: readonly ProgramRecord[] = []): Promise<void> {
  const records = [...(await readRecords(dir)), ...known];
  for (const kinds of [['kube-controller-manager', 'kube-scheduler'], ['kube-apiserver'], ['kine', 'etcd']])
    await Promise.all(records.filter(({ kind }) => kinds.includes(kind)).map((record) => stopProgram(dir, record)));
  await stopUnrecorded(dir, []);
}

export { isRunning };

/** A process's memory (PSS) and its processor time so far. */
export async function measureProcess({ pid }: ProcessMark): Promise<{ memoryBytes: number; cpuSeconds: number }> {
  const [rollup, stat] = await Promise.all([
    readFile(`/proc/${pid}/smaps_rollup`, 'utf8').catch(() => ''),
    readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ''),
  ]);
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ticks = Number(fields[11] ?? 0) + Number(fields[12] ?? 0);
  return { memoryBytes: Number(/^Pss:\s+(\d+) kB$/m.exec(rollup)?.[1] ?? 0) * 1024, cpuSeconds: (ticks || 0) / 100 };
}
