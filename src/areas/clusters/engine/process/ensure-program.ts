import { isRunning, lastLogLine, type ProgramRecord, readRecords, startAndRecord, stopProgram } from '../../clients/process/programs.ts';
import { restartDelaySeconds, type WantedProgram } from '../../rules/process/programs.ts';
import { ClusterError } from '../cluster-error.ts';
import { recordOomKills, wasOomKilledRecently } from './oom-kills.ts';
import type { ProcessPlane, RestartBackoff } from './state.ts';

/** One that ran so long ended for a reason of its own: the next start is not held up. */
const stableAfterMs = 300_000;

/** The program as it should be: the one that runs, if it was started the same way; else a new one. */
export async function ensureProgram(plane: ProcessPlane, wanted: WantedProgram): Promise<ProgramRecord> {
  const place = plane.directory!;
  const { dir } = place;
  const known = (await readRecords(dir)).find(({ name }) => name === wanted.name);
  if (known && (await isRunning(known))) {
    if (known.hash === wanted.hash) {
      await enterCgroup(plane, known.pid);
      return known;
    }
    await stopProgram(dir, known);
  } else if (known) await recordExit(plane, wanted, known);
  const { retryAt } = backoffOf(plane, wanted.name);
  const wait = Math.ceil((retryAt - performance.now()) / 1000);
  if (wait > 0) throw new ClusterError(`${wanted.kind} ended soon after each of its last starts; it is started again in ${wait} s`);
  if (known) plane.restarts.set(wanted.kind, (plane.restarts.get(wanted.kind) ?? known.restarts) + 1);
  const restarts = plane.restarts.get(wanted.kind) ?? 0;
  const entered = (pid: number) => enterCgroup(plane, pid);
  const record = await startAndRecord(place, wanted, { port: known?.port ?? 0, restarts, entered });
  backoffOf(plane, wanted.name).startedAt = performance.now();
  return record;
}

/** Also one that is adopted: a server before this one may have had no cgroup to put it into. Nobody goes without a program for it. */
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

/** Its record goes: an end is counted once. Its port may be what it stumbled over, and is not tried again after an early end. */
export async function recordExit(
  plane: ProcessPlane,
  { name, kind }: Pick<WantedProgram, 'name' | 'kind'>,
  record: ProgramRecord,
): Promise<void> {
  const ends = backoffOf(plane, name);
  const isEarly = performance.now() - ends.startedAt < stableAfterMs;
  ends.consecutiveExits = isEarly ? ends.consecutiveExits + 1 : 1;
  ends.retryAt = performance.now() + 1000 * restartDelaySeconds(ends.consecutiveExits);
  const said = await lastLogLine(record);
  await recordOomKills(plane, kind);
  plane.app.log.warn(
    {
      cluster: plane.parts.cluster().id,
      program: kind,
      pid: record.pid,
      said,
      inRow: ends.consecutiveExits,
      forMemory: wasOomKilledRecently(plane, kind),
    },
    'a program of a cluster ended',
  );
  await stopProgram(plane.directory!.dir, record);
  if (isEarly) record.port = 0;
}
