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
  /** A statement that takes longer than this has failed, and its connection with it. */
  answerMs?: number;
}

/** One connection, and the channels whose LISTEN has been answered on it. */
interface Ear {
  client: pg.Client;
  listening: Set<string>;
}

export async function listen({ connection, beatMs = 1_000, deafAfterMs = 3_000, answerMs = 2_000 }: ListenOptions): Promise<Listener> {
  const beat = `beat_${randomUUID().replaceAll('-', '')}`;
  const channels = new Map<string, ((payload: string) => void)[]>([[beat, []]]);
  const changes: ((hearing: boolean) => void)[] = [];
  let ear: Ear | undefined;
  let beating = false; // a beat has come back on this connection
  let told = false;
  let closed = false;
  let lastHeard = performance.now();

  const listensToAll = ({ listening }: Ear) => listening.size === channels.size;
  const isHearing = () => beating && ear !== undefined && listensToAll(ear);

  // What the driver tells us from inside its own work is only noted there. Whoever listens to us is told in a turn of its own, in order.
  const tellChange = (always = false) =>
    queueMicrotask(() => {
      const now = isHearing();
      if (now === told && !always) return;
      told = now;
      for (const act of changes) act(now);
    });
  const tellNews = (channel: string, payload: string) =>
    queueMicrotask(() => {
      for (const hear of channels.get(channel) ?? []) hear(payload);
    });

  const drop = (lost: pg.Client) => {
    queueMicrotask(() => endQuietly(lost));
    if (ear?.client !== lost) return;
    ear = undefined;
    beating = false;
    tellChange();
  };

  const hear = (client: pg.Client, channel: string, payload: string) => {
    if (ear?.client !== client) return; // not all channels have answered yet
    lastHeard = performance.now();
    if (channel !== beat) return tellNews(channel, payload);
    beating = true;
    tellChange();
  };

  /** Statements go one after the other. On a connection where one has failed nothing is certain any more: it is given up. */
  let queue: Promise<unknown> = Promise.resolve();
  const ask = async (client: pg.Client, text: string, values: string[] = []) => {
    const asked = queue.then(() => client.query(text, values));
    queue = asked.catch(() => {});
    try {
      await asked;
    } catch (error) {
      drop(client);
      throw error;
    }
  };
  const listenTo = async ({ client, listening }: Ear, channel: string) => {
    await ask(client, `listen "${channel}"`);
    listening.add(channel);
  };
  const sendBeat = (client: pg.Client) => ask(client, 'select pg_notify($1, $2)', [beat, '']);

  const connect = async (): Promise<void> => {
    const client = new pg.Client({
      ...connection,
      connectionTimeoutMillis: 2_000,
      query_timeout: answerMs,
      keepAlive: true,
      application_name: 'quarterdeck listen',
    });
    client.on('error', () => drop(client));
    client.on('end', () => drop(client));
    client.on('notification', ({ channel, payload }) => hear(client, channel, payload ?? ''));
    const fresh: Ear = { client, listening: new Set() };
    queue = Promise.resolve();
    try {
      await client.connect();
      // Somebody may add a channel while the others are being asked for.
      for (let next = unlistened(fresh); next !== undefined && !closed; next = unlistened(fresh)) await listenTo(fresh, next);
    } catch (error) {
      drop(client);
      throw error;
    }
    if (closed) return drop(client); // while we were reconnecting
    ear = fresh;
    lastHeard = performance.now();
    // The first beat coming back proves that the LISTENs took effect; only then is anything remembered again.
    await sendBeat(client);
  };
  const unlistened = ({ listening }: Ear) => [...channels.keys()].find((channel) => !listening.has(channel));

  let connecting: Promise<void> | undefined;
  const reconnect = () => {
    connecting ??= connect()
      .catch(() => {})
      .finally(() => (connecting = undefined));
    return connecting;
  };

  /** A channel that is new on a connection which already hears: until its LISTEN has taken effect we do not, whatever the beat says. */
  const join = async (on: Ear, channel: string) => {
    await listenTo(on, channel);
    tellChange(true); // what was read meanwhile is to be forgotten
  };

  await connect();
  const timer = setInterval(() => {
    if (closed) return;
    if (!ear) void reconnect();
    else if (performance.now() - lastHeard > deafAfterMs) drop(ear.client);
    else sendBeat(ear.client).catch(() => {});
  }, beatMs);
  timer.unref();

  return {
    get hearing() {
      // Between two ticks the clock alone may already say that we are deaf.
      return isHearing() && performance.now() - lastHeard <= deafAfterMs;
    },
    on: (channel, act) => {
      const known = channels.get(channel);
      if (known) return void known.push(act);
      channels.set(channel, [act]);
      if (ear) join(ear, channel).catch(() => {});
    },
    onChange: (act) => void changes.push(act),
    close: async () => {
      closed = true;
      clearInterval(timer);
      const last = ear?.client;
      ear = undefined;
      beating = false;
      if (last) await endQuietly(last);
    },
  };
}

/** A socket that dies after we gave it up has nothing to tell us. */
function endQuietly(client: pg.Client): Promise<void> {
  client.removeAllListeners();
  client.on('error', () => {});
  return client.end().catch(() => {});
}
