import type { Tx } from '../../../kernel/db/index.ts';
import { hintEach } from '../../../kernel/jobs/index.ts';
import { publicChanged } from '../../services/index.ts';
import type { Transition } from '../rules/down.ts';
import { flapTransitions, flapWindowSeconds } from '../rules/flap.ts';
import { insertTransitions, recentTransitions, type StateChange, writeStates } from '../store/states.ts';
import { type LockedMonitor, updateAlerts } from './alerts.ts';
import { scheduleFlapEnd } from './end-flapping.ts';

/** A monitor whose state changes in this transaction, with its state row as locked. */
export interface StateMove extends LockedMonitor {
  change: Omit<StateChange, 'flapping'>;
  transitions: Transition[];
}

/** Writes the new states and transitions of monitors, updates their alerts, and publishes the change. One transaction. */
export async function recordTransitions(tx: Tx, moved: readonly StateMove[], because?: string): Promise<void> {
  hintEach(
    tx,
    moved.map(({ monitor }) => monitor.org_id),
    'uptime.monitor',
    'uptime.service',
  );
  const changed = moved.filter((m) => m.transitions.length);
  if (changed.length)
    await insertTransitions(
      tx,
      changed.flatMap(({ monitor, transitions }) => transitions.map((t) => ({ ...t, org: monitor.org_id, monitorId: monitor.id }))),
    );
  const flapping = await nowFlapping(tx, changed);
  const states = moved.map((m) => ({
    ...m.change,
    flapping: m.change.state !== 'pending' && (m.state.flapping || flapping.has(m.monitor.id)),
  }));
  if (states.length) await writeStates(tx, states);
  if (!changed.length) return;

  const after = new Map(states.map((s) => [s.id, s]));
  const subjects = changed.map(({ monitor, state }): LockedMonitor => {
    const s = after.get(monitor.id)!;
    return {
      monitor,
      state: { ...state, state: s.state as typeof state.state, since: s.since, failing_since: s.failingSince, flapping: s.flapping },
    };
  });
  await updateAlerts(tx, subjects, because);
  const unsteady = subjects.filter(({ state }) => state.flapping).map(({ monitor }) => monitor);
  if (unsteady.length) await scheduleFlapEnd(tx, unsteady);
  for (const org of new Set(changed.filter((m) => m.monitor.service_id).map((m) => m.monitor.org_id))) await publicChanged(tx, org);
}

async function nowFlapping(tx: Tx, changed: readonly StateMove[]): Promise<ReadonlySet<string>> {
  const upOrDown = changed.filter((m) => m.transitions.some((t) => t.from !== 'pending' && t.to !== 'pending')).map((m) => m.monitor.id);
  if (!upOrDown.length) return new Set();
  const counts = await recentTransitions(tx, upOrDown, flapWindowSeconds);
  return new Set(counts.filter((c) => c.count >= flapTransitions).map((c) => c.monitor_id));
}
