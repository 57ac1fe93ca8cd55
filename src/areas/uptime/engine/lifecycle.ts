import type { Tx } from '../../../kernel/db.ts';
import { enqueue, job, reschedule } from '../../../kernel/jobs/index.ts';
import { now as clock } from '../../../kernel/time.ts';
import { publicChanged } from '../../services/index.ts';
import * as rules from '../rules/down.ts';
import type { MonitorRow } from '../store/monitor-row.ts';
import { opinionsOf, resetOpinions, rewriteOpinions } from '../store/opinions.ts';
import { insertState, lockStates, monitorsOf, type StateRow, watchersOf } from '../store/states.ts';
import { lockWindows, nextBoundary } from '../store/windows.ts';
import { settleAlerts } from './alerts.ts';
import { record } from './record.ts';
import { opinionChange, opinionOf, standingChange, standingOf, watchedOf } from './standing.ts';

// What happens to a monitor's state when somebody changes the monitor: inside their transaction, with the row as it is from now on.

/** It was made. */
export async function begin(tx: Tx, monitor: MonitorRow): Promise<void> {
  await insertState(tx, monitor.org_id, monitor.id);
  await resetOpinions(tx, monitor.org_id, monitor.id, monitor.vantages);
}

/** What it checks, or from where, is another thing now, or it is enabled again: nothing is known of it. */
export async function startOver(tx: Tx, monitor: MonitorRow): Promise<void> {
  const state = await locked(tx, monitor);
  await resetOpinions(tx, monitor.org_id, monitor.id, monitor.vantages);
  await toPending(tx, monitor, state, 'the monitor was changed and starts over');
}

const reasons = { paused: 'the monitor was paused', deleted: 'the monitor was deleted' };

export async function stopWatching(tx: Tx, monitor: MonitorRow, because: keyof typeof reasons): Promise<void> {
  await toPending(tx, monitor, await locked(tx, monitor), reasons[because]);
}

async function toPending(tx: Tx, monitor: MonitorRow, state: StateRow, because: string) {
  const now = Date.parse(await clock(tx));
  const at = rules.nextMoment(Date.parse(state.since), now);
  const transitions: rules.Transition[] =
    state.state === 'pending' ? [] : [{ at, from: state.state, to: 'pending', failingVantages: [], since: at }];
  const change = standingChange({
    state: 'pending',
    since: transitions.length ? at : Date.parse(state.since),
    beganAt: now,
    failingSince: undefined,
  });
  await record(tx, [{ monitor, state, change: { id: monitor.id, ...change }, transitions }], because);
}

/** The interval or the condition is another one. */
export async function rejudge(tx: Tx, monitor: MonitorRow): Promise<void> {
  const state = await locked(tx, monitor);
  if (!monitor.enabled) return;
  const known = new Map((await opinionsOf(tx, [monitor.id])).map((o) => [o.vantage, opinionOf(o)]));
  const now = Date.parse(await clock(tx));
  const { opinions, standing, transitions } = rules.rejudge(standingOf(state), watchedOf(monitor), known, now);
  await rewriteOpinions(
    tx,
    monitor.id,
    [...opinions].map(([vantage, o]) => ({ vantage, ...opinionChange(o) })),
  );
  await record(tx, [{ monitor, state, change: { id: monitor.id, ...standingChange(standing) }, transitions }]);
}

/** It belongs to another service, or to none. */
export async function moved(tx: Tx, monitor: MonitorRow, previousServiceId: string | null): Promise<void> {
  if (previousServiceId === monitor.service_id) return;
  await settleAlerts(tx, [{ monitor, state: await locked(tx, monitor) }]);
  await publicChanged(tx, monitor.org_id);
}

/** Planned work on a service began, ended, was planned or called off: alerts fire or are held accordingly, now and when it changes next. */
export async function maintenanceChanged(tx: Tx, org: string, serviceId: string): Promise<void> {
  await lockWindows(tx, org, serviceId);
  const ids = await watchersOf(tx, org, serviceId);
  if (ids.length) {
    const states = await lockStates(tx, ids);
    const monitors = new Map((await monitorsOf(tx, ids)).map((m) => [m.id, m]));
    const subjects = states.flatMap((state) => {
      const monitor = monitors.get(state.monitor_id);
      return monitor ? [{ monitor, state }] : [];
    });
    await settleAlerts(tx, subjects);
  }
  await publicChanged(tx, org);
  const runAt = await nextBoundary(tx, org, serviceId);
  const key = `${org} ${serviceId}`;
  // In this order: a turn that ends between the two is gone, not in the way.
  if (runAt) (await reschedule(tx, maintenanceTurn, key, { runAt })) || (await enqueue(tx, maintenanceTurn, { key, org, runAt }));
}

/** A window of a service begins or ends. Safe to run twice: it goes by what is stored and planned at that moment. */
export const maintenanceTurn = job('uptime.maintenance-turn', {}, ({ app, key }) => {
  const [org = '', serviceId = ''] = key.split(' ');
  return app.db.write((tx) => maintenanceChanged(tx, org, serviceId));
});

async function locked(tx: Tx, monitor: MonitorRow): Promise<StateRow> {
  const [state] = await lockStates(tx, [monitor.id]);
  if (!state) throw new Error(`monitor ${monitor.id} has no state; begin() makes it in the transaction that makes the monitor`);
  return state;
}
