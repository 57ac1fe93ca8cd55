import type { Tx } from '../../../kernel/db/index.ts';
import { conflict } from '../../../kernel/errors.ts';
import * as store from '../store/instances.ts';

// Which probers there are: each running one is an instance, which speaks under the session that it opened.

/** A clock is told for an operator to read; whatever it says must fit the column. */
export const clampClock = (ms: number) => Math.min(Math.max(Math.round(ms), 0), 8.64e15);

export async function openSession(tx: Tx, by: store.ProberIdentity, given: { instance: string; version: string; now: number }) {
  return (
    (await store.openSession(tx, by, given.instance, given.version, clampClock(given.now))) ??
    conflict('this instance has reported from another vantage before; give the prober an empty buffer directory')
  );
}

/** An instance that asks is there. Refused when it has no session. */
export async function refreshSession(tx: Tx, vantage: string, instance: string): Promise<void> {
  if (!(await store.refresh(tx, vantage, instance))) noSession();
}

export const noSession = (): never =>
  conflict('this instance has no session with us; open one with POST /agent/v1/session', { code: 'no_session' });

/** A prober that was stopped: its share goes to the others at once. */
export const endSession = (tx: Tx, instance: string) => store.expireInstance(tx, instance);

/** A server that would probe says so, whether or not there is anything to probe. */
export const standBy = (tx: Tx, instance: string, vantage: string, version: string) => store.standBy(tx, instance, vantage, version);

/** A server that stops has nothing left to say. */
export const forgetStandBy = (tx: Tx, instance: string) => store.forgetStandBy(tx, instance);

/** One server at a time looks for a place of its own on the disk, until this transaction ends. */
export const lockProberDirectories = (tx: Tx) => store.lockProberDirectories(tx);
