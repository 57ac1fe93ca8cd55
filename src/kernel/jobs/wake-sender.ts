import pg from 'pg';
import type { Connection } from '../db/index.ts';

/** Tells other processes which channels were woken here: one NOTIFY for all channels marked meanwhile, every 10 ms at most. */
export interface WakeSender {
  add(channel: string): void;
  /** Sends the remaining channels and accepts no more. */
  close(): Promise<void>;
}

interface Sending {
  connection: Connection;
  /** The name of the PostgreSQL channel. */
  notifications: string;
  /** The id of the sender: a process ignores its own notifications. */
  self: string;
  unsent: Set<string>;
  client: pg.Client | undefined;
  timer: NodeJS.Timeout | undefined;
  underway: Promise<void> | undefined;
  notBefore: number;
  closed: boolean;
}

const everyMs = 10;
const afterFailureMs = 1_000;

export function makeWakeSender(options: Pick<Sending, 'connection' | 'notifications' | 'self'>): WakeSender {
  const sending: Sending = {
    ...options,
    unsent: new Set(),
    client: undefined,
    timer: undefined,
    underway: undefined,
    notBefore: 0,
    closed: false,
  };
  return {
    add: (channel) => {
      sending.unsent.add(channel);
      scheduleSend(sending);
    },
    close: async () => {
      sending.closed = true;
      clearTimeout(sending.timer);
      await sending.underway;
      if (sending.unsent.size > 0) await sendUnsent(sending);
      await sending.client?.end().catch(() => {});
    },
  };
}

function scheduleSend(sending: Sending): void {
  if (sending.closed || sending.timer || sending.underway || sending.unsent.size === 0) return;
  const send = () => {
    sending.timer = undefined;
    sending.underway = sendUnsent(sending).finally(() => {
      sending.underway = undefined;
      scheduleSend(sending);
    });
  };
  sending.timer = setTimeout(send, Math.max(0, sending.notBefore - performance.now())).unref();
}

async function sendUnsent(sending: Sending): Promise<void> {
  const payloads = [...sending.unsent].map((channel) => `${sending.self} ${channel}`);
  sending.unsent.clear();
  sending.notBefore = performance.now() + everyMs;
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
    sending.notBefore = performance.now() + afterFailureMs;
  }
}

async function connectSender(sending: Sending): Promise<pg.Client> {
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
