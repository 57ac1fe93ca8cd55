import type { Tx } from '../../../kernel/db/index.ts';
import { now as clock } from '../../../kernel/time.ts';
import { publicChanged } from '../../services/index.ts';
import * as rules from '../rules/down.ts';
import type { MonitorRow } from '../store/monitor-row.ts';
import { insertState, lockStates, type StateRow } from '../store/states.ts';
import { resetVantageStates, rewriteVantageStates, vantageStatesOf } from '../store/vantage-states.ts';
import { updateAlerts } from './alerts.ts';
import { recordTransitions } from './record.ts';
import { statusChange, statusOf, vantageStateChange, vantageStateOf, watchedOf } from './status-rows.ts';

// What happens to a monitor's state when the monitor is edited. Runs in the transaction of the edit, with the row as it is from now on.

/** The monitor was made. */
export async function beginWatching(tx: Tx, monitor: MonitorRow): Promise<void> {
  await insertState(tx, monitor.org_id, monitor.id);
  await resetVantageStates(tx, monitor.org_id, monitor.id, monitor.vantages);
}

/** Its target or vantages changed, or it was enabled again: earlier checks say nothing about it. */
export async function startOver(tx: Tx, monitor: MonitorRow): Promise<void> {
  const state = await lockState(tx, monitor);
  await resetVantageStates(tx, monitor.org_id, monitor.id, monitor.vantages);
  await toPending(tx, monitor, state, 'the monitor was changed and starts over');
}

const reasons = { paused: 'the monitor was paused', deleted: 'the monitor was deleted' };

export async function stopWatching(tx: Tx, monitor: MonitorRow, because: keyof typeof reasons): Promise<void> {
  await toPending(tx, monitor, await lockState(tx, monitor), reasons[because]);
}

async function toPending(tx: Tx, monitor: MonitorRow, state: StateRow, because: string) {
  const now = Date.parse(await clock(tx));
  const at = rules.nextTimestamp(Date.parse(state.since), now);
  const transitions: rules.Transition[] =
    state.state === 'pending' ? [] : [{ at, from: state.state, to: 'pending', failingVantages: [], since: at }];
  const change = statusChange({
    state: 'pending',
    since: transitions.length ? at : Date.parse(state.since),
    beganAt: now,
    failingSince: undefined,
  });
  await recordTransitions(tx, [{ monitor, state, change: { id: monitor.id, ...change }, transitions }], because);
}

/** The interval or the down condition changed. */
export async function rejudge(tx: Tx, monitor: MonitorRow): Promise<void> {
  const state = await lockState(tx, monitor);
  if (!monitor.enabled) return;
  const known = new Map((await vantageStatesOf(tx, [monitor.id])).map((o) => [o.vantage, vantageStateOf(o)]));
  const now = Date.parse(await clock(tx));
  const { opinions, standing, transitions } = rules.rejudge(statusOf(state), watchedOf(monitor), known, now);
  await rewriteVantageStates(
    tx,
    monitor.id,
    [...opinions].map(([vantage, o]) => ({ vantage, ...vantageStateChange(o) })),
  );
  await recordTransitions(tx, [{ monitor, state, change: { id: monitor.id, ...statusChange(standing) }, transitions }]);
}

/** The monitor moved to another service, or to none. */
export async function moveToService(tx: Tx, monitor: MonitorRow): Promise<void> {
  await updateAlerts(tx, [{ monitor, state: await lockState(tx, monitor) }]);
  await publicChanged(tx, monitor.org_id);
}

async function lockState(tx: Tx, monitor: MonitorRow): Promise<StateRow> {
  const [state] = await lockStates(tx, [monitor.id]);
  if (!state) throw new Error(`monitor ${monitor.id} has no state; beginWatching() makes it in the transaction that makes the monitor`);
  return state;
}
