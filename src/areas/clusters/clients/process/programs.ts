import { once } from 'node:events';
import { readdir, readFile, readlink, rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import type { Identity } from '../../../../kernel/programs/identity.ts';
import { boundLog, lastLine, logSince } from '../../../../kernel/programs/log-file.ts';
import { endProcess, isRunning, markOf, type ProcessMark } from '../../../../kernel/programs/process.ts';
import { readRecord, startProgram, writeRecord } from '../../../../kernel/programs/start.ts';
import type { ProgramKind, WantedProgram } from '../../rules/process/programs.ts';
import { workDirOf } from './users.ts';

/** A program that was started for a cluster, as its record tells it. */
export interface ProgramRecord extends ProcessMark {
  kind: ProgramKind;
  name: string;
  log: string;
  hash: string;
  port: number;
  logOffset: number;
  /** How often a program of this place was started before. */
  restarts: number;
}

const recordSuffix = '.record.json';
const recordPath = (dir: string, name: string) => join(dir, `${name}${recordSuffix}`);

/** What was started for the cluster of this directory, by this server or the one before it. */
export async function readRecords(dir: string): Promise<ProgramRecord[]> {
  const names = (await listOrEmpty(dir)).filter((name) => name.endsWith(recordSuffix));
  const found = await Promise.all(names.map((name) => readRecord<ProgramRecord>(join(dir, name))));
  return found.filter((record) => record !== undefined);
}

/** Throws for anything else than that it is not there: programs whose records cannot be read at the moment are no strays. */
const listOrEmpty = (dir: string): Promise<string[]> =>
  readdir(dir).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });

/** One that nobody has at this moment. Somebody may take it before the program does: then it ends, and is started with another. */
async function findFreePort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** Where and as whom it is started. */
interface StartDirectory {
  dir: string;
  workDir: string;
  identity: Identity;
}

/** What is known before a start. */
interface StartOptions {
  port: number;
  restarts: number;
  entered: (pid: number) => Promise<void>;
}

/** Its record is written once it runs: a kill in between leaves a process that `endStrays` finds. */
export async function startAndRecord({ dir, workDir, identity }: StartDirectory, wanted: WantedProgram, known: StartOptions) {
  const { kind, name, hash, program, env } = wanted;
  const log = join(dir, `${wanted.log}.log`);
  const port = wanted.listens ? known.port || (await findFreePort()) : 0;
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

/** However much a program says while it runs, its log stays small. By the names of the directory, not by what a record says of them. */
export async function boundLogs(dir: string, limit?: number): Promise<void> {
  const names = (await readdir(dir).catch(() => [])).filter((name) => /^(kine|kube-[a-z-]+(-\d+)?)\.log$/.test(name));
  for (const name of names) await boundLog(join(dir, name), limit);
}

/** What it said last, for the operator. */
export const lastLogLine = async ({ log, logOffset }: ProgramRecord): Promise<string> =>
  lastLine(await logSince(log, logOffset).catch(() => '')).slice(0, 500);

/** Ends a program and forgets it. Throws if it cannot be ended: then its record stays. */
export async function stopProgram(dir: string, record: ProgramRecord, gentleMs = 10_000): Promise<void> {
  const how = await endProcess(record, { gentleMs });
  if (how === 'still there') throw new Error(`${record.name} (pid ${record.pid}) could not be ended`);
  const path = recordPath(dir, record.name);
  const kept = await readRecord<ProgramRecord>(path);
  // Its successor may stand under the same name already.
  if (kept?.pid === record.pid && kept.started === record.started) await rm(path, { force: true });
}

/** In the environment of all that we start: a shell of the operator's that stands in the directory is not ours. */
const ownerVariable = 'QUARTERDECK_CLUSTER_RUN';

/** Programs of ours at work in this directory without a record: the server was killed between a start and its record. */
export async function stopUnrecorded(dir: string, records: readonly ProgramRecord[]): Promise<number> {
  if (process.platform !== 'linux') return 0;
  const known = new Set(records.map(({ pid }) => pid));
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const at = await Promise.all(pids.map((pid) => readlink(`/proc/${pid}/cwd`).catch(() => '')));
  const here = pids.filter((pid, n) => [dir, workDirOf(dir)].includes(at[n]!) && !known.has(pid));
  const told = await Promise.all(here.map((pid) => readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '')));
  const strays = here.filter((_, n) => told[n]!.split('\0').includes(`${ownerVariable}=${dir}`));
  const marks = await Promise.all(strays.map(markOf));
  await Promise.all(marks.map((mark) => mark && endProcess(mark, { gentleMs: 2_000 })));
  return strays.length;
}

/** Everything that runs for the cluster of this directory ends, also what is known without it: what speaks to an apiserver first, the store last. */
export async function stopAll(dir: string, known: readonly ProgramRecord[] = []): Promise<void> {
  const records = [...(await readRecords(dir)), ...known];
  for (const kinds of [['kube-controller-manager', 'kube-scheduler'], ['kube-apiserver'], ['kine']])
    await Promise.all(records.filter(({ kind }) => kinds.includes(kind)).map((record) => stopProgram(dir, record)));
  await stopUnrecorded(dir, []);
}

export { isRunning };

/** Of a process, now: its share of the machine's memory, and the processor time that it has had, in seconds. */
export async function measureProcess({ pid }: ProcessMark): Promise<{ memoryBytes: number; cpuSeconds: number }> {
  const [rollup, stat] = await Promise.all([
    readFile(`/proc/${pid}/smaps_rollup`, 'utf8').catch(() => ''),
    readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ''),
  ]);
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ticks = Number(fields[11] ?? 0) + Number(fields[12] ?? 0);
  return { memoryBytes: Number(/^Pss:\s+(\d+) kB$/m.exec(rollup)?.[1] ?? 0) * 1024, cpuSeconds: (ticks || 0) / 100 };
}
