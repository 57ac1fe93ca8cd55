import pg from 'pg';
import type { Connection } from '../db/index.ts';

/** Tells other processes which channels were woken here: one NOTIFY for all channels marked meanwhile, every 10 ms at most. */
export interface WakeSender {
  add(channel: string): void;
  /** Sends the remaining channels and accepts no more. */
  close(): Promise<void>;
}

interface SenderState {
  connection: Connection;
  /** The name of the PostgreSQL channel. */
  notifications: string;
  /** The id of the sender: a process ignores its own notifications. */
  self: string;
  /** What is sent instead, once that works again, of channels that could not be sent. */
  standInFor(lost: readonly string[]): readonly string[];
  unsent: Set<string>;
  client: pg.Client | undefined;
  timer: NodeJS.Timeout | undefined;
  inFlight: Promise<void> | undefined;
  notBefore: number;
  isClosed: boolean;
}

const minIntervalMs = 10;
const failureBackoffMs = 1_000;
const connectionEndMs = 2_000;

export function makeWakeSender(options: Pick<SenderState, 'connection' | 'notifications' | 'self' | 'standInFor'>): WakeSender {
  const sending: SenderState = {
    ...options,
    unsent: new Set(),
    client: undefined,
    timer: undefined,
    inFlight: undefined,
    notBefore: 0,
    isClosed: false,
  };
  return {
    add: (channel) => {
      sending.unsent.add(channel);
      scheduleSend(sending);
    },
    close: async () => {
      sending.isClosed = true;
      clearTimeout(sending.timer);
      await sending.inFlight;
      if (sending.unsent.size > 0) await sendUnsent(sending);
      if (sending.client) await endWithin(sending.client, connectionEndMs);
    },
  };
}

/** A peer that has gone silent never confirms the end. */
async function endWithin(client: pg.Client, ms: number): Promise<void> {
  const silent = setTimeout(() => client.connection.stream.destroy(), ms);
  await client.end().catch(() => {});
  clearTimeout(silent);
}

function scheduleSend(sending: SenderState): void {
  if (sending.isClosed || sending.timer || sending.inFlight || sending.unsent.size === 0) return;
  const send = () => {
    sending.timer = undefined;
    sending.inFlight = sendUnsent(sending).finally(() => {
      sending.inFlight = undefined;
      scheduleSend(sending);
    });
  };
  sending.timer = setTimeout(send, Math.max(0, sending.notBefore - performance.now())).unref();
}

async function sendUnsent(sending: SenderState): Promise<void> {
  const channels = [...sending.unsent];
  const payloads = channels.map((channel) => `${sending.self} ${channel}`);
  sending.unsent.clear();
  sending.notBefore = performance.now() + minIntervalMs;
  try {
    const client = sending.client ?? (await connectSender(sending));
    await client.query({
      name: 'wake',
      text: 'select pg_notify($1, payload) from unnest($2::text[]) payload',
      values: [sending.notifications, payloads],
    });
  } catch {
    // Other processes find the work by polling. Retrying an unavailable database a hundred times a second would not help.
    const lost = sending.client;
    sending.client = undefined;
    void lost?.end().catch(() => {});
    sending.notBefore = performance.now() + failureBackoffMs;
    for (const channel of sending.standInFor(channels)) sending.unsent.add(channel);
  }
}

async function connectSender(sending: SenderState): Promise<pg.Client> {
  const client = new pg.Client({
    ...sending.connection,
    connectionTimeoutMillis: 2_000,
    query_timeout: 2_000,
    keepAlive: true,
    application_name: 'quarterdeck wake',
  });
  const drop = () => {
    if (sending.client === client) sending.client = undefined;
  };
  client.on('error', drop);
  client.on('end', drop);
  try {
    await client.connect();
  } catch (error) {
    void client.end().catch(() => {});
    throw error;
  }
  sending.client = client;
  return client;
}
