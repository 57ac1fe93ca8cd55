import { randomUUID } from 'node:crypto';
import type { Connection, Db, Tx } from '../db/index.ts';
import type { Listener } from '../listen.ts';
import { type HearNews, isNews, lostNews, makeNews, type News } from './news.ts';
import { makeWakeSender } from './wake-sender.ts';

/** A wake channel: a task by its name, or a lane. A constant that both sides import, so that neither can misspell it. */
export type Channel = string & { readonly [woken]: true };
declare const woken: unique symbol;

export const channelNamed = (name: string): Channel => name as Channel;

/**
 * Wakes the listeners of a channel once this transaction has committed. It only marks the transaction: a NOTIFY inside it would make every
 * commit of the database queue behind one lock. It is a hint; listeners also poll by the clock.
 */
export const wake = (tx: Tx, channel: Channel): void => tx.wake(channel);

export const laneChannel = (lane: string) => channelNamed(`lane:${lane}`);

/** For the code that moves the product's clock: every worker polls again. */
export const clockMoved = channelNamed('clock');

export interface Waker {
  /**
   * Called on every wake of the channel from this or another process, and when one may have been missed. Returns a function that removes
   * the listener.
   */
  subscribe(channel: string, act: () => void): () => void;
  /** Called for every hint of this and other processes: see news.ts. Returns a function that removes the listener. */
  onNews(hear: HearNews): () => void;
  /** Outside a transaction. */
  wake(channel: string): void;
  close(): Promise<void>;
}

const notifications = 'qd_wake';

type Listeners = Map<string, Set<() => void>>;

/** Wakes the workers of this process at once, and those of other processes by NOTIFY. */
export function makeWaker({ db, connection, listener }: { db: Db; connection: Connection; listener: Listener }): Waker {
  const listeners: Listeners = new Map();
  const { self, sender, news } = makeSending(connection);
  let closed = false;

  const wakeChannel = (channel: string) => {
    if (closed) return;
    if (isNews(channel)) return news.take(channel);
    notifyListeners(listeners, channel);
    sender.add(channel);
  };
  db.onWake(wakeChannel);
  listenToOthers(listener, listeners, news, self);

  return {
    subscribe: (channel, act) => {
      const acts = listeners.get(channel) ?? new Set();
      listeners.set(channel, acts.add(act));
      return () => {
        acts.delete(act);
        if (acts.size === 0 && listeners.get(channel) === acts) listeners.delete(channel);
      };
    },
    onNews: (hear) => news.subscribe(hear),
    wake: wakeChannel,
    close: () => {
      closed = true;
      news.close();
      return sender.close();
    },
  };
}

function makeSending(connection: Connection) {
  const self = randomUUID().slice(0, 8);
  // Work is found by polling; nothing polls for hints, so those that are lost have a stand-in.
  const sender = makeWakeSender({ connection, notifications, self, standInFor: (lost) => (lost.some(isNews) ? [lostNews] : []) });
  return { self, sender, news: makeNews((payload) => sender.add(payload)) };
}

/** For a command beside the servers: what it asks of them is begun at once. `close` sends what is left. */
export function sendWakes(db: Db, connection: Connection): { close(): Promise<void> } {
  const { sender, news } = makeSending(connection);
  db.onWake((channel) => (isNews(channel) ? news.take(channel) : sender.add(channel)));
  return {
    close: () => {
      news.close();
      return sender.close();
    },
  };
}

function listenToOthers(listener: Listener, listeners: Listeners, news: News, self: string): void {
  listener.on(notifications, (payload) => {
    const space = payload.indexOf(' ');
    if (payload.slice(0, space) === self) return;
    const channel = payload.slice(space + 1);
    if (isNews(channel)) news.hear(channel);
    else notifyListeners(listeners, channel);
  });
  // Notifications between two connections are lost, so all channels count as woken. A starting process polls everything that is due anyway.
  listener.onReconnect(() => {
    for (const channel of listeners.keys()) notifyListeners(listeners, channel);
  });
}

function notifyListeners(listeners: Listeners, channel: string): void {
  for (const act of listeners.get(channel) ?? []) act();
}
