import { randomUUID } from 'node:crypto';
import pg from 'pg';
import type { Connection, Db, Tx } from '../db.ts';
import type { Listener } from '../listen.ts';

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
const everyMs = 10;
const afterFailureMs = 1_000;

/** Own workers at once; other processes by one NOTIFY for all channels marked meanwhile, every 10 ms at most. */
export function makeWaker({ db, connection, listener }: { db: Db; connection: Connection; listener: Listener }): Waker {
  const self = randomUUID().slice(0, 8);
  const hearers = new Map<string, Set<() => void>>();
  const unsent = new Set<string>();
  let client: pg.Client | undefined;
  let sending: Promise<void> | undefined;
  let notBefore = 0;
  let timer: NodeJS.Timeout | undefined;
  let closed = false;

  const tell = (channel: string) => {
    for (const act of hearers.get(channel) ?? []) act();
  };
  const tellAll = () => {
    for (const channel of hearers.keys()) tell(channel);
  };

  const connect = async () => {
    const fresh = new pg.Client({
      ...connection,
      connectionTimeoutMillis: 2_000,
      query_timeout: 2_000,
      keepAlive: true,
      application_name: 'quarterdeck wake',
    });
    const drop = () => {
      if (client === fresh) client = undefined;
    };
    fresh.on('error', drop);
    fresh.on('end', drop);
    try {
      await fresh.connect();
    } catch (error) {
      void fresh.end().catch(() => {});
      throw error;
    }
    client = fresh;
    return fresh;
  };

  const send = async () => {
    const payloads = [...unsent].map((channel) => `${self} ${channel}`);
    unsent.clear();
    notBefore = performance.now() + everyMs;
    try {
      const on = client ?? (await connect());
      await on.query({
        name: 'wake',
        text: 'select pg_notify($1, payload) from unnest($2::text[]) payload',
        values: [notifications, payloads],
      });
    } catch {
      // Others find the work by their clock. Asking an absent database a hundred times a second would help nobody.
      const lost = client;
      client = undefined;
      void lost?.end().catch(() => {});
      notBefore = performance.now() + afterFailureMs;
    }
  };

  const schedule = () => {
    if (closed || timer || sending || unsent.size === 0) return;
    timer = setTimeout(
      () => {
        timer = undefined;
        sending = send().finally(() => {
          sending = undefined;
          schedule();
        });
      },
      Math.max(0, notBefore - performance.now()),
    );
    timer.unref();
  };

  const waken = (channel: string) => {
    if (closed) return;
    tell(channel);
    unsent.add(channel);
    schedule();
  };

  db.onWake(waken);
  listener.on(notifications, (payload) => {
    const space = payload.indexOf(' ');
    if (payload.slice(0, space) !== self) tell(payload.slice(space + 1));
  });
  // What was missed while deaf is unknown. The first hearing is none: whoever starts looks at everything anyway.
  let heard = listener.hearing;
  listener.onChange((hearing) => {
    if (hearing && heard) tellAll();
    heard ||= hearing;
  });

  return {
    hear: (channel, act) => {
      const acts = hearers.get(channel) ?? new Set();
      hearers.set(channel, acts.add(act));
      return () => acts.delete(act);
    },
    wake: waken,
    close: async () => {
      closed = true;
      clearTimeout(timer);
      await sending;
      if (unsent.size > 0) await send();
      await client?.end().catch(() => {});
    },
  };
}
