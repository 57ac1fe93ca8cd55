import type { Tx } from '../../../kernel/db/index.ts';
import { enqueueMany, hint, job, rescheduleMany } from '../../../kernel/jobs/index.ts';
import { now } from '../../../kernel/time.ts';
import { stableSeconds } from '../rules/flap.ts';
import type { MonitorRow } from '../store/monitor-row.ts';
import { lockStates, monitorsOf, writeStates } from '../store/states.ts';
import { updateAlerts } from './alerts.ts';

/**
 * Ends a monitor's flapping once it has kept its state for long enough; on-call is then notified of that state. Safe to run twice: it reads
 * the stored state, and leaves a monitor alone that does not flap. It does not fence. A batch locks the state and then moves this job, so
 * locking the job first and the state second would deadlock.
 */
export const endFlapping = job('uptime.calm-down', {}, ({ db, key }) =>
  db.write(async (tx) => {
    const [state] = await lockStates(tx, [key]);
    const [monitor] = await monitorsOf(tx, [key]);
    if (!state?.flapping || !monitor) return;
    const left = stableSeconds(monitor.interval_seconds) - (Date.parse(await now(tx)) - Date.parse(state.since)) / 1000;
    if (left > 0) return scheduleFlapEnd(tx, [monitor], left);
    hint(tx, monitor.org_id, 'uptime.monitor');
    await writeStates(tx, [
      { id: key, state: state.state, since: state.since, beganAt: state.began_at, failingSince: state.failing_since, flapping: false },
    ]);
    await updateAlerts(tx, [{ monitor, state: { ...state, flapping: false } }]);
  }),
);

/** Each change of state postpones the end of the flapping. Two statements for any number of monitors. */
export async function scheduleFlapEnd(tx: Tx, monitors: readonly Pick<MonitorRow, 'id' | 'org_id' | 'interval_seconds'>[], left?: number) {
  const asked = monitors.map((m) => ({ key: m.id, org: m.org_id, delaySeconds: left ?? stableSeconds(m.interval_seconds) }));
  // In this order: a job that ends between the two is gone, not in the way.
  const moved = await rescheduleMany(tx, endFlapping, asked);
  await enqueueMany(
    tx,
    endFlapping,
    asked.filter(({ key }) => !moved.has(key)),
  );
}
