import { randomUUID } from 'node:crypto';
import pg from 'pg';
import type { Connection } from './db/index.ts';

/** Listens to NOTIFY on one connection of its own, and detects a dead connection: a link cut without notice looks like silence. */
export interface Listener {
  /** False from the moment the connection is in doubt until it is proven again. */
  readonly hearing: boolean;
  on(channel: string, hear: (payload: string) => void): void;
  /** Called on every change of `hearing`. Caches filled while deaf must be cleared. */
  onChange(act: (hearing: boolean) => void): void;
  /** Called when another connection has replaced the last one: notifications in between are lost. */
  onReconnect(act: () => void): void;
  close(): Promise<void>;
}

export interface ListenOptions {
  connection: Connection;
  /** The connection's name in pg_stat_activity: it tells others which servers exist. */
  name?: string;
  beatMs?: number;
  deafAfterMs?: number;
  /** A statement that takes longer than this has failed, and its connection with it. */
  answerMs?: number;
}

/** One connection, and the channels whose LISTEN has been answered on it. */
interface Ear {
  client: pg.Client;
  channels: Set<string>;
}

interface Listening {
  connection: Connection;
  name: string;
  deafAfterMs: number;
  answerMs: number;
  /** The channel of this listener's own heartbeat. */
  beat: string;
  channels: Map<string, ((payload: string) => void)[]>;
  changes: ((hearing: boolean) => void)[];
  reconnects: (() => void)[];
  /** The connection on which all channels known at its start have answered. */
  ear: Ear | undefined;
  /** A heartbeat has come back on this connection. */
  beating: boolean;
  /** A heartbeat has come back on any connection yet. */
  hasBeaten: boolean;
  /** The last value that change listeners got. */
  told: boolean;
  lastHeard: number;
  /** Statements run one after the other. */
  queue: Promise<unknown>;
  connecting: Promise<void> | undefined;
  closed: boolean;
}

export async function listen(options: ListenOptions): Promise<Listener> {
  const { connection, name = 'quarterdeck listen', beatMs = 1_000, deafAfterMs = 3_000, answerMs = 2_000 } = options;
  const beat = `beat_${randomUUID().replaceAll('-', '')}`;
  const listening: Listening = {
    connection,
    name,
    deafAfterMs,
    answerMs,
    beat,
    channels: new Map([[beat, []]]),
    changes: [],
    reconnects: [],
    ear: undefined,
    beating: false,
    hasBeaten: false,
    told: false,
    lastHeard: performance.now(),
    queue: Promise.resolve(),
    connecting: undefined,
    closed: false,
  };
  await connect(listening);
  const timer = setInterval(keepBeating, beatMs, listening).unref();
  return {
    get hearing() {
      // Between two ticks the clock alone may already say that the listener is deaf.
      return isHearing(listening) && performance.now() - listening.lastHeard <= deafAfterMs;
    },
    on: (channel, act) => addHearer(listening, channel, act),
    onChange: (act) => void listening.changes.push(act),
    onReconnect: (act) => void listening.reconnects.push(act),
    close: () => {
      clearInterval(timer);
      return closeEar(listening);
    },
  };
}

const isHearing = ({ beating, ear, channels }: Listening) => beating && ear !== undefined && ear.channels.size === channels.size;

/** Each tick sends a heartbeat, which must come back in time; without a connection it opens one. */
function keepBeating(listening: Listening): void {
  const { closed, ear, lastHeard, deafAfterMs } = listening;
  if (closed) return;
  if (!ear) void reconnect(listening);
  else if (performance.now() - lastHeard > deafAfterMs) dropClient(listening, ear.client);
  else sendBeat(listening, ear.client).catch(() => {});
}

function reconnect(listening: Listening): Promise<void> {
  listening.connecting ??= connect(listening)
    .catch(() => {})
    .finally(() => (listening.connecting = undefined));
  return listening.connecting;
}

async function connect(listening: Listening): Promise<void> {
  const client = makeClient(listening);
  const ear: Ear = { client, channels: new Set() };
  listening.queue = Promise.resolve();
  try {
    await client.connect();
    await listenToAll(listening, ear);
  } catch (error) {
    dropClient(listening, client);
    throw error;
  }
  if (listening.closed) return dropClient(listening, client); // closed during the reconnect
  listening.ear = ear;
  listening.lastHeard = performance.now();
  // The first heartbeat that comes back proves that the LISTENs took effect; only then may caches be filled again.
  await sendBeat(listening, client);
}

function makeClient(listening: Listening): pg.Client {
  const client = new pg.Client({
    ...listening.connection,
    connectionTimeoutMillis: 2_000,
    query_timeout: listening.answerMs,
    keepAlive: true,
    application_name: listening.name,
  });
  client.on('error', () => dropClient(listening, client));
  client.on('end', () => dropClient(listening, client));
  client.on('notification', ({ channel, payload }) => noteNews(listening, client, channel, payload ?? ''));
  return client;
}

/** A channel may be added while the others are being listened to. */
async function listenToAll(listening: Listening, ear: Ear): Promise<void> {
  const nextChannel = () => [...listening.channels.keys()].find((channel) => !ear.channels.has(channel));
  for (let next = nextChannel(); next !== undefined && !listening.closed; next = nextChannel()) await listenTo(listening, ear, next);
}

async function listenTo(listening: Listening, ear: Ear, channel: string): Promise<void> {
  await ask(listening, ear.client, `listen "${channel}"`);
  ear.channels.add(channel);
}

const sendBeat = (listening: Listening, client: pg.Client) => ask(listening, client, 'select pg_notify($1, $2)', [listening.beat, '']);

/** After a failed statement the state of a connection is unknown, so it is dropped. */
async function ask(listening: Listening, client: pg.Client, text: string, values: string[] = []): Promise<void> {
  const asked = listening.queue.then(() => client.query(text, values));
  listening.queue = asked.catch(() => {});
  try {
    await asked;
  } catch (error) {
    dropClient(listening, client);
    throw error;
  }
}

function addHearer(listening: Listening, channel: string, act: (payload: string) => void): void {
  const { channels, ear } = listening;
  const known = channels.get(channel);
  if (known) return void known.push(act);
  channels.set(channel, [act]);
  if (ear) joinChannel(listening, ear, channel).catch(() => {});
}

/** A new channel on a working connection: until its LISTEN has taken effect the listener is deaf, whatever the heartbeat says. */
async function joinChannel(listening: Listening, ear: Ear, channel: string): Promise<void> {
  await listenTo(listening, ear, channel);
  tellChange(listening, true); // caches filled meanwhile must be cleared
}

// Driver events arrive in the middle of the driver's own work, so they are only recorded there. Listeners are called in microtasks of their
// own, in order.

function noteNews(listening: Listening, client: pg.Client, channel: string, payload: string): void {
  if (listening.ear?.client !== client) return; // not all channels have answered yet
  listening.lastHeard = performance.now();
  if (channel === listening.beat) {
    const isReconnected = listening.hasBeaten && !listening.beating;
    listening.beating = true;
    listening.hasBeaten = true;
    tellChange(listening);
    if (isReconnected) tellReconnected(listening);
  } else tellNews(listening, channel, payload);
}

function dropClient(listening: Listening, lost: pg.Client): void {
  queueMicrotask(() => endQuietly(lost));
  if (listening.ear?.client !== lost) return;
  forgetEar(listening);
  tellChange(listening);
}

const tellNews = ({ channels }: Listening, channel: string, payload: string) =>
  queueMicrotask(() => {
    for (const hear of channels.get(channel) ?? []) hear(payload);
  });

const tellChange = (listening: Listening, always = false) =>
  queueMicrotask(() => {
    const now = isHearing(listening);
    if (now === listening.told && !always) return;
    listening.told = now;
    for (const act of listening.changes) act(now);
  });

const tellReconnected = ({ reconnects }: Listening) =>
  queueMicrotask(() => {
    for (const act of reconnects) act();
  });

function forgetEar(listening: Listening): void {
  listening.ear = undefined;
  listening.beating = false;
}

async function closeEar(listening: Listening): Promise<void> {
  listening.closed = true;
  const last = listening.ear?.client;
  forgetEar(listening);
  if (last) await endQuietly(last);
}

/** Errors of a dropped socket are irrelevant. */
function endQuietly(client: pg.Client): Promise<void> {
  client.removeAllListeners();
  client.on('error', () => {});
  return client.end().catch(() => {});
}
