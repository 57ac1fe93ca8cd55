import type { Tx } from '../../../kernel/db/index.ts';
import { conflict } from '../../../kernel/errors.ts';
import { enqueue, job, moveOrEnqueue } from '../../../kernel/jobs/index.ts';
import { now } from '../../../kernel/time.ts';
import { publicChanged } from '../../services/index.ts';
import * as store from '../store/maintenance.ts';
import { lockStates, monitorIdsOfService, monitorsOf } from '../store/states.ts';
import { lockWindows, nextBoundary } from '../store/windows.ts';
import { updateAlerts } from './alerts.ts';
import { recountMaintenance } from './recount-maintenance.ts';

/** Windows of one service. Every batch for the service reads all of them. */
const maxPlannedWindows = 100;

export async function planMaintenance(tx: Tx, org: string, planned: store.NewMaintenance): Promise<store.MaintenanceRow> {
  await lockWindows(tx, org, planned.serviceId);
  if ((await store.countPlanned(tx, org, planned.serviceId)) >= maxPlannedWindows)
    conflict(`the service has ${maxPlannedWindows} windows that are not over, which is the most; call some off first`);
  const made = await store.insertMaintenance(tx, org, planned);
  await maintenanceChanged(tx, org, planned.serviceId);
  return made;
}

/** Deletes a window that is planned, under way or over. From now on the API and all figures treat it as never planned. */
export async function callOffMaintenance(tx: Tx, org: string, gone: store.MaintenanceRow): Promise<void> {
  const { id, service_id: serviceId, starts_at: startsAt, ends_at: endsAt } = gone;
  await store.deleteMaintenance(tx, org, id);
  await maintenanceChanged(tx, org, serviceId);
  if (startsAt < (await now(tx))) await enqueue(tx, recountMaintenance, { key: id, org, payload: { serviceId, startsAt, endsAt } });
}

/**
 * Maintenance of a service began, ended, was planned or was called off. Alerts fire or are held accordingly, and a job runs at the next
 * boundary.
 */
export async function maintenanceChanged(tx: Tx, org: string, serviceId: string): Promise<void> {
  await lockWindows(tx, org, serviceId);
  const ids = await monitorIdsOfService(tx, org, serviceId);
  if (ids.length) {
    const states = await lockStates(tx, ids);
    const monitors = new Map((await monitorsOf(tx, ids)).map((m) => [m.id, m]));
    const subjects = states.flatMap((state) => {
      const monitor = monitors.get(state.monitor_id);
      return monitor ? [{ monitor, state }] : [];
    });
    await updateAlerts(tx, subjects);
  }
  await publicChanged(tx, org);
  const runAt = await nextBoundary(tx, org, serviceId);
  const key = `${org} ${serviceId}`;
  if (runAt) await moveOrEnqueue(tx, maintenanceTurn, { key, org, runAt });
}

/** A window of a service begins or ends. Safe to run twice: it reads the windows and states that are stored. */
export const maintenanceTurn = job('uptime.maintenance-turn', {}, ({ db, key }) => {
  const [org = '', serviceId = ''] = key.split(' ');
  return db.write((tx) => maintenanceChanged(tx, org, serviceId));
});
