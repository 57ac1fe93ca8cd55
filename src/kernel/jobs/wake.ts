import { randomUUID } from 'node:crypto';
import type { Connection, Db, Tx } from '../db/index.ts';
import type { Listener } from '../listen.ts';
import { makeWakeSender } from './wake-sender.ts';

/** What can be waited for: a task by its name, a lane. A value that both sides import, so that neither can misspell the other. */
export type Channel = string & { readonly [woken]: true };
declare const woken: unique symbol;

export const channelNamed = (name: string): Channel => name as Channel;

/**
 * Wakes whoever waits on a channel once this transaction has committed. It only marks the transaction:
 * a NOTIFY inside it would make every commit of the database queue behind one lock. It is a hint; who waits also looks by the clock.
 */
export const wake = (tx: Tx, channel: Channel): void => tx.wake(channel);

export const laneChannel = (lane: string) => channelNamed(`lane:${lane}`);

/** For whoever moves the product's clock: every worker looks again at what is due. */
export const clockMoved = channelNamed('clock');

export interface Waker {
  /** Called on every wake of the channel from here or another process, and when we may have missed one. Returns how to stop it. */
  hear(channel: string, act: () => void): () => void;
  /** Outside a transaction. */
  wake(channel: string): void;
  close(): Promise<void>;
}

const notifications = 'qd_wake';

type Hearers = Map<string, Set<() => void>>;

/** Own workers at once; those of other processes by NOTIFY. */
export function makeWaker({ db, connection, listener }: { db: Db; connection: Connection; listener: Listener }): Waker {
  const self = randomUUID().slice(0, 8);
  const hearers: Hearers = new Map();
  const sender = makeWakeSender({ connection, notifications, self });
  let closed = false;

  const wakeChannel = (channel: string) => {
    if (closed) return;
    tellHearers(hearers, channel);
    sender.add(channel);
  };
  db.onWake(wakeChannel);
  hearOthers(listener, hearers, self);

  return {
    hear: (channel, act) => {
      const acts = hearers.get(channel) ?? new Set();
      hearers.set(channel, acts.add(act));
      return () => acts.delete(act);
    },
    wake: wakeChannel,
    close: () => {
      closed = true;
      return sender.close();
    },
  };
}

function hearOthers(listener: Listener, hearers: Hearers, self: string): void {
  listener.on(notifications, (payload) => {
    const space = payload.indexOf(' ');
    if (payload.slice(0, space) !== self) tellHearers(hearers, payload.slice(space + 1));
  });
  // What was missed between two connections is unknown, so all are told. Whoever starts looks at everything that is due anyway.
  listener.onReconnect(() => {
    for (const channel of hearers.keys()) tellHearers(hearers, channel);
  });
}

function tellHearers(hearers: Hearers, channel: string): void {
  for (const act of hearers.get(channel) ?? []) act();
}
