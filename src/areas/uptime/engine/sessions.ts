import type { Tx } from '../../../kernel/db/index.ts';
import { conflict } from '../../../kernel/errors.ts';
import * as store from '../store/instances.ts';

// Which probers run: each is an instance, and reports under the session that it opened.

/** A prober's clock is only shown to the operator; any value must fit the column. */
export const clampClock = (ms: number) => Math.min(Math.max(Math.round(ms), 0), 8.64e15);

export async function openSession(tx: Tx, by: store.ProberIdentity, given: { instance: string; version: string; now: number }) {
  return (
    (await store.openSession(tx, by, given.instance, given.version, clampClock(given.now))) ??
    conflict('this instance has reported from another vantage before; give the prober an empty buffer directory')
  );
}

/** Notes that an instance is alive. Refused when it has no session. */
export async function refreshSession(tx: Tx, vantage: string, instance: string): Promise<void> {
  if (!(await store.refresh(tx, vantage, instance))) noSession();
}

export const noSession = (): never =>
  conflict('this instance has no session with us; open one with POST /agent/v1/session', { code: 'no_session' });

/** A prober that was stopped: its share goes to the others at once. */
export const endSession = (tx: Tx, instance: string) => store.expireInstance(tx, instance);

/** Notes that a server is ready to probe, whether or not there are monitors. */
export const standBy = (tx: Tx, instance: string, vantage: string, version: string) => store.standBy(tx, instance, vantage, version);

/** A server that stops removes its standby row. */
export const forgetStandBy = (tx: Tx, instance: string) => store.forgetStandBy(tx, instance);

/** Serializes the search for a free prober directory, until this transaction ends. */
export const lockProberDirectories = (tx: Tx) => store.lockProberDirectories(tx);
