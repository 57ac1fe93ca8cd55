import Type from 'typebox';
import type { Db } from '../../../kernel/db/index.ts';
import { job } from '../../../kernel/jobs/index.ts';
import { now } from '../../../kernel/time.ts';
import { slicesOf } from '../rules/maintenance.ts';
import { faultsKnownSince, includeChecks, rebuildHalfHours, rebuildSteps, type Stretch } from '../store/results.ts';
import { lockStates, monitorIdsOfService, monitorsOf } from '../store/states.ts';

const Window = Type.Object({ serviceId: Type.String(), startsAt: Type.String(), endsAt: Type.String() });

/**
 * A maintenance window was called off: the checks made in it count again in the figures of its service's monitors. One transaction covers a
 * few hours of one monitor, so results wait for it no longer than for each other. Safe to run twice and to be killed: it reads the windows
 * and checks that are stored. Checks stored before the column `degraded` existed stay excluded, because it is unknown which of them failed
 * through their prober.
 */
export const recountMaintenance = job(
  'uptime.give-back',
  { payload: Window, deadlineSeconds: 1_800 },
  async ({ db, org = '', payload: { serviceId, startsAt, endsAt }, signal }) => {
    const at = await db.read(now);
    const from = [startsAt, await db.read(faultsKnownSince)].sort().at(-1)!;
    const monitors = await db.read(async (tx) => monitorsOf(tx, await monitorIdsOfService(tx, org, serviceId)));
    for (const monitor of monitors)
      for (const [sliceFrom, to] of slicesOf({ startsAt: from, endsAt, now: at })) {
        signal.throwIfAborted();
        await recountSlice(db, monitor.id, { org, serviceId, monitorNo: monitor.no, from: sliceFrom, to });
      }
  },
);

const recountSlice = (db: Db, monitorId: string, stretch: Stretch) =>
  db.write(async (tx) => {
    await lockStates(tx, [monitorId]);
    if (!(await includeChecks(tx, stretch))) return;
    await rebuildSteps(tx, stretch);
    await rebuildHalfHours(tx, stretch);
  });
