import type { Tx } from '../../../kernel/db/index.ts';
import { forbidden } from '../../../kernel/errors.ts';
import type { Secrets } from '../../../kernel/secrets.ts';
import { publicChanged } from '../../services/index.ts';
import { consequences } from '../rules/edit.ts';
import { publicTarget, type Target } from '../rules/masked-target.ts';
import { openedTarget, sealTarget } from '../rules/sealed-target.ts';
import { type MonitorRow, nextRevision } from '../store/monitor-row.ts';
import * as store from '../store/monitors.ts';
import { lockWindows } from '../store/windows.ts';
import * as lifecycle from './lifecycle.ts';

/**
 * Refused when the organization has used up its quota. The count is locked until this transaction ends, so two creations at once cannot
 * both take the last monitor.
 */
export async function checkQuota(tx: Tx, org: string, quota: number): Promise<void> {
  if ((await store.countMonitors(tx, org)) < quota) return;
  forbidden(`the organization has ${quota} monitors, as many as it may; delete one first, or ask the operator for more`, {
    code: 'quota_reached',
  });
}

/** A monitor to be made, with its whole target. */
export type WantedMonitor = Omit<store.NewMonitor, 'id' | 'target' | 'sealed' | 'revision'> & { target: Target };

export async function makeMonitor(tx: Tx, secrets: Secrets, org: string, wanted: WantedMonitor): Promise<MonitorRow> {
  const id = await store.newMonitorId(tx);
  const made = await store.insertMonitor(tx, org, {
    ...wanted,
    id,
    target: publicTarget(wanted.target),
    sealed: sealTarget(secrets, id, wanted.target),
    revision: await nextRevision(tx),
  });
  await lifecycle.beginWatching(tx, made);
  if (made.service_id !== null) await publicChanged(tx, org);
  return made;
}

/** A monitor with its whole target; the target is undefined where it cannot be unsealed. */
export type WholeMonitor = Omit<MonitorRow, 'target'> & { target: Target | undefined };

export const openMonitor = (secrets: Secrets, { sealed, ...monitor }: store.LockedRow): WholeMonitor => ({
  ...monitor,
  target: openedTarget(secrets, { ...monitor, sealed }),
});

/** Stores the wanted settings of a locked monitor. Its state, the probers and on-call follow. */
export async function changeMonitor(tx: Tx, secrets: Secrets, locked: store.LockedRow, wanted: WholeMonitor): Promise<MonitorRow> {
  const before = openMonitor(secrets, locked);
  const { org_id: org, id } = before;
  const { revised, startsOver, rejudged, stops } = consequences(before, wanted);
  const isMoved = wanted.service_id !== before.service_id;
  if (wanted.service_id !== null && isMoved) await lockWindows(tx, org, wanted.service_id);
  const after = await store.updateMonitor(tx, org, {
    ...wanted,
    target: publicTarget(wanted.target ?? locked.target),
    ...(wanted.target ? { sealed: sealTarget(secrets, id, wanted.target) } : {}),
    epoch: before.epoch + (startsOver ? 1 : 0),
    revision: revised ? await nextRevision(tx) : before.revision,
  });
  if (stops) await lifecycle.stopWatching(tx, after, 'paused');
  else if (startsOver && after.enabled) await lifecycle.startOver(tx, after);
  else if (rejudged) await lifecycle.rejudge(tx, after);
  // Last: an alert that ended above does not fire at its new service first.
  if (isMoved) await lifecycle.moveToService(tx, after);
  return after;
}

/** Its history stays; its secrets go, and its alert ends. */
export async function deleteMonitor(tx: Tx, secrets: Secrets, monitor: store.LockedRow): Promise<void> {
  const { org_id: org, id } = monitor;
  const target = publicTarget(monitor.target);
  await store.deleteMonitor(tx, org, { id, target, sealed: sealTarget(secrets, id, target), revision: await nextRevision(tx) });
  await lifecycle.stopWatching(tx, monitor, 'deleted');
  if (monitor.service_id !== null) await publicChanged(tx, org);
}
