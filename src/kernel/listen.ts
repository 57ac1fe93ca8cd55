import { randomUUID } from 'node:crypto';
import pg from 'pg';
import type { Connection } from './db.ts';

/** Hears NOTIFY on one connection of its own, and knows whether it still hears: a link cut without notice looks like silence. */
export interface Listener {
  /** False from the moment hearing is in doubt until it is certain again. */
  readonly hearing: boolean;
  on(channel: string, hear: (payload: string) => void): void;
  /** Called on every change of `hearing`. What was remembered while deaf must be forgotten. */
  onChange(act: (hearing: boolean) => void): void;
  close(): Promise<void>;
}

export interface ListenOptions {
  connection: Connection;
  beatMs?: number;
  deafAfterMs?: number;
}

export async function listen({ connection, beatMs = 1_000, deafAfterMs = 3_000 }: ListenOptions): Promise<Listener> {
  const channels = new Map<string, ((payload: string) => void)[]>();
  const changes: ((hearing: boolean) => void)[] = [];
  const beat = `beat_${randomUUID().replaceAll('-', '')}`;
  let client: pg.Client | undefined;
  let hearing = false;
  let closed = false;
  let lastHeard = performance.now();

  const become = (now: boolean) => {
    if (hearing === now) return;
    hearing = now;
    for (const act of changes) act(now);
  };

  const drop = (lost: pg.Client) => {
    if (client !== lost) return;
    client = undefined;
    become(false);
    lost.removeAllListeners();
    lost.on('error', () => {}); // a socket that dies after we gave it up has nothing to tell us
    void lost.end().catch(() => {});
  };

  // The driver takes one statement at a time: on a link that has gone dead, the next beat waits behind the one that hangs.
  let queue: Promise<unknown> = Promise.resolve();
  const ask = (on: pg.Client, text: string, values: string[] = []) => {
    const asked = queue.then(() => on.query(text, values));
    queue = asked.catch(() => {});
    return asked;
  };

  const connect = async (): Promise<void> => {
    const fresh = new pg.Client({
      ...connection,
      connectionTimeoutMillis: 2_000,
      query_timeout: 2_000,
      keepAlive: true,
      application_name: 'quarterdeck listen',
    });
    fresh.on('error', () => drop(fresh));
    fresh.on('end', () => drop(fresh));
    fresh.on('notification', ({ channel, payload }) => {
      lastHeard = performance.now();
      if (channel === beat) return become(true);
      for (const hear of channels.get(channel) ?? []) hear(payload ?? '');
    });
    await fresh.connect();
    if (closed) return fresh.end(); // while we were reconnecting
    client = fresh;
    queue = Promise.resolve();
    for (const channel of [beat, ...channels.keys()]) await ask(fresh, `listen "${channel}"`);
    // The first beat coming back proves that the LISTENs took effect; only then is anything remembered again.
    lastHeard = performance.now();
    await ask(fresh, 'select pg_notify($1, $2)', [beat, '']);
  };

  let connecting: Promise<void> | undefined;
  const reconnect = () => {
    connecting ??= connect()
      .catch(() => {})
      .finally(() => (connecting = undefined));
    return connecting;
  };

  // Until its LISTEN has taken effect a channel is not heard, whatever the beat says.
  let joining = 0;
  const join = async (on: pg.Client, channel: string) => {
    joining++;
    await ask(on, `listen "${channel}"`).catch(() => {});
    joining--;
    for (const act of changes) act(hearing);
  };

  await connect();
  const timer = setInterval(() => {
    if (closed) return;
    if (client && performance.now() - lastHeard > deafAfterMs) return drop(client);
    if (client) void ask(client, 'select pg_notify($1, $2)', [beat, '']).catch(() => {});
    else void reconnect();
  }, beatMs);
  timer.unref();

  return {
    get hearing() {
      // Between two ticks the clock alone may already say that we are deaf.
      return hearing && joining === 0 && performance.now() - lastHeard <= deafAfterMs;
    },
    on: (channel, hear) => {
      if (!channels.has(channel)) {
        channels.set(channel, []);
        if (client) void join(client, channel);
      }
      channels.get(channel)!.push(hear);
    },
    onChange: (act) => changes.push(act),
    close: async () => {
      closed = true;
      clearInterval(timer);
      const last = client;
      client = undefined;
      last?.removeAllListeners();
      last?.on('error', () => {});
      await last?.end().catch(() => {});
    },
  };
}
