import { endProgram, isRunning, lastWords, type ProgramRecord, readRecords, startWanted } from '../../clients/process/programs.ts';
import { pauseSeconds, type WantedProgram } from '../../rules/process/programs.ts';
import { ClusterTrouble } from '../trouble.ts';
import { isShortOfMemory, noteMemoryEnd } from './memory-ends.ts';
import type { Ends, ProcessPlane } from './state.ts';

/** One that ran so long ended for a reason of its own: the next start is not held up. */
const steadyMs = 300_000;

/** The program as it should be: the one that runs, if it was started the same way; else a new one. */
export async function keepProgram(plane: ProcessPlane, wanted: WantedProgram): Promise<ProgramRecord> {
  const place = plane.place!;
  const { dir } = place;
  const known = (await readRecords(dir)).find(({ name }) => name === wanted.name);
  if (known && (await isRunning(known))) {
    if (known.hash === wanted.hash) {
      await enterCgroup(plane, known.pid);
      return known;
    }
    await endProgram(dir, known);
  } else if (known) await noteEnd(plane, wanted, known);
  const { notBefore } = endsOf(plane, wanted.name);
  const wait = Math.ceil((notBefore - performance.now()) / 1000);
  if (wait > 0) throw new ClusterTrouble(`${wanted.kind} ended soon after each of its last starts; it is started again in ${wait} s`);
  if (known) plane.restarts.set(wanted.kind, (plane.restarts.get(wanted.kind) ?? known.restarts) + 1);
  const restarts = plane.restarts.get(wanted.kind) ?? 0;
  const entered = (pid: number) => enterCgroup(plane, pid);
  const record = await startWanted(place, wanted, { port: known?.port ?? 0, restarts, entered });
  endsOf(plane, wanted.name).startedAt = performance.now();
  return record;
}

/** Also one that is adopted: a server before this one may have had no cgroup to put it into. Nobody goes without a program for it. */
async function enterCgroup({ app, cgroup, parts }: ProcessPlane, pid: number): Promise<void> {
  await cgroup
    ?.enter(pid)
    .catch((error) => app.log.warn({ err: error, cluster: parts.cluster().id, pid }, 'a program is not in its cgroup'));
}

function endsOf({ ends }: ProcessPlane, name: string): Ends {
  const known = ends.get(name) ?? { inRow: 0, notBefore: 0, startedAt: Number.NEGATIVE_INFINITY };
  ends.set(name, known);
  return known;
}

/** Its record goes: an end is counted once. Its port may be what it stumbled over, and is not tried again after an early end. */
export async function noteEnd(
  plane: ProcessPlane,
  { name, kind }: Pick<WantedProgram, 'name' | 'kind'>,
  record: ProgramRecord,
): Promise<void> {
  const ends = endsOf(plane, name);
  const isEarly = performance.now() - ends.startedAt < steadyMs;
  ends.inRow = isEarly ? ends.inRow + 1 : 1;
  ends.notBefore = performance.now() + 1000 * pauseSeconds(ends.inRow);
  const said = await lastWords(record);
  await noteMemoryEnd(plane, kind);
  plane.app.log.warn(
    { cluster: plane.parts.cluster().id, program: kind, pid: record.pid, said, inRow: ends.inRow, forMemory: isShortOfMemory(plane, kind) },
    'a program of a cluster ended',
  );
  await endProgram(plane.place!.dir, record);
  if (isEarly) record.port = 0;
}
