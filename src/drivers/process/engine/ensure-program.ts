import { ClusterError } from '../../cluster-error.ts';
import { isRunning, lastLogLine, type ProgramRecord, readRecords, startAndRecord, stopProgram } from '../clients/programs.ts';
import { restartDelaySeconds, type WantedProgram } from '../rules/programs.ts';
import { recordOomKills, wasOomKilledRecently } from './oom-kills.ts';
import type { ProcessPlane, RestartBackoff } from './state.ts';

/** A program that ran this long is restarted without a delay: its exit is not a failed start. */
const stableAfterMs = 300_000;

/** Adopts the running program if it was started with the same hash; else replaces it. */
export async function ensureProgram(plane: ProcessPlane, wanted: WantedProgram): Promise<ProgramRecord> {
  const directory = plane.directory!;
  const { dir } = directory;
  const known = (await readRecords(dir)).find(({ name }) => name === wanted.name);
  if (known && (await isRunning(known))) {
    if (known.hash === wanted.hash) {
      await enterCgroup(plane, known.pid);
      return known;
    }
    await stopProgram(dir, known);
  } else if (known) await recordExit(plane, wanted, known);
  const { retryAt } = backoffOf(plane, wanted.name);
  const waitSeconds = Math.ceil((retryAt - performance.now()) / 1000);
  if (waitSeconds > 0)
    throw new ClusterError(`${wanted.kind} ended soon after each of its last starts; it is started again in ${waitSeconds} s`);
  if (known) plane.restarts.set(wanted.kind, (plane.restarts.get(wanted.kind) ?? known.restarts) + 1);
  const restarts = plane.restarts.get(wanted.kind) ?? 0;
  const entered = (pid: number) => enterCgroup(plane, pid);
  const record = await startAndRecord(directory, wanted, { port: known?.port ?? 0, restarts, entered });
  backoffOf(plane, wanted.name).startedAt = performance.now();
  return record;
}

/** Also for adopted programs: the server that started them may have had no cgroup. A failure does not stop the program. */
async function enterCgroup({ app, cgroup, parts }: ProcessPlane, pid: number): Promise<void> {
  await cgroup
    ?.enter(pid)
    .catch((error) => app.log.warn({ err: error, cluster: parts.cluster().id, pid }, 'a program is not in its cgroup'));
}

function backoffOf({ backoffs }: ProcessPlane, name: string): RestartBackoff {
  const known = backoffs.get(name) ?? { consecutiveExits: 0, retryAt: 0, startedAt: Number.NEGATIVE_INFINITY };
  backoffs.set(name, known);
  return known;
}

/** Removes the record, so that an exit is counted once. After an early exit the port is not reused: it may be the cause. */
export async function recordExit(
  plane: ProcessPlane,
  { name, kind }: Pick<WantedProgram, 'name' | 'kind'>,
  record: ProgramRecord,
): Promise<void> {
  const backoff = backoffOf(plane, name);
  const isEarly = performance.now() - backoff.startedAt < stableAfterMs;
  backoff.consecutiveExits = isEarly ? backoff.consecutiveExits + 1 : 1;
  backoff.retryAt = performance.now() + 1000 * restartDelaySeconds(backoff.consecutiveExits);
  const said = await lastLogLine(record);
  await recordOomKills(plane, kind);
  plane.app.log.warn(
    {
      cluster: plane.parts.cluster().id,
      program: kind,
      pid: record.pid,
      said,
      inRow: backoff.consecutiveExits,
      forMemory: wasOomKilledRecently(plane, kind),
    },
    'a program of a cluster ended',
  );
  await stopProgram(plane.directory!.dir, record);
  if (isEarly) record.port = 0;
}
