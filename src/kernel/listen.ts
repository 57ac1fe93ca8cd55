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
  heartbeatMs?: number;
  deafAfterMs?: number;
  /** A statement that takes longer than this has failed, and its connection with it. */
  statementTimeoutMs?: number;
}

/** One connection, and the channels whose LISTEN has been answered on it. */
interface ListeningConnection {
  client: pg.Client;
  channels: Set<string>;
}

interface ListenerState {
  connection: Connection;
  name: string;
  deafAfterMs: number;
  statementTimeoutMs: number;
  /** The channel of this listener's own heartbeat. */
  heartbeatChannel: string;
  channels: Map<string, ((payload: string) => void)[]>;
  changeListeners: ((hearing: boolean) => void)[];
  reconnectListeners: (() => void)[];
  /** The connection on which all channels known at its start have answered. */
  current: ListeningConnection | undefined;
  /** A heartbeat has come back on this connection. */
  isBeating: boolean;
  /** A heartbeat has come back on any connection yet. */
  hasBeaten: boolean;
  /** The last value that change listeners got. */
  lastReported: boolean;
  lastHeardAt: number;
  /** Statements run one after the other. */
  queue: Promise<unknown>;
  connecting: Promise<void> | undefined;
  isClosed: boolean;
}

export async function listen(options: ListenOptions): Promise<Listener> {
  const { connection, name = 'quarterdeck listen', heartbeatMs = 1_000, deafAfterMs = 3_000, statementTimeoutMs = 2_000 } = options;
  const beat = `beat_${randomUUID().replaceAll('-', '')}`;
  const listening: ListenerState = {
    connection,
    name,
    deafAfterMs,
    statementTimeoutMs,
    heartbeatChannel: beat,
    channels: new Map([[beat, []]]),
    changeListeners: [],
    reconnectListeners: [],
    current: undefined,
    isBeating: false,
    hasBeaten: false,
    lastReported: false,
    lastHeardAt: performance.now(),
    queue: Promise.resolve(),
    connecting: undefined,
    isClosed: false,
  };
  await connect(listening);
  const timer = setInterval(onTick, heartbeatMs, listening).unref();
  return {
    get hearing() {
      // Between two ticks the clock alone may already say that the listener is deaf.
      return isHearing(listening) && performance.now() - listening.lastHeardAt <= deafAfterMs;
    },
    on: (channel, act) => addListener(listening, channel, act),
    onChange: (act) => void listening.changeListeners.push(act),
    onReconnect: (act) => void listening.reconnectListeners.push(act),
    close: () => {
      clearInterval(timer);
      return closeListener(listening);
    },
  };
}

const isHearing = ({ isBeating, current, channels }: ListenerState) =>
  isBeating && current !== undefined && current.channels.size === channels.size;

/** Each tick sends a heartbeat, which must come back in time; without a connection it opens one. */
function onTick(listening: ListenerState): void {
  const { isClosed, current, lastHeardAt, deafAfterMs } = listening;
  if (isClosed) return;
  if (!current) void reconnect(listening);
  else if (performance.now() - lastHeardAt > deafAfterMs) dropClient(listening, current.client);
  else sendHeartbeat(listening, current.client).catch(() => {});
}

function reconnect(listening: ListenerState): Promise<void> {
  listening.connecting ??= connect(listening)
    .catch(() => {})
    .finally(() => (listening.connecting = undefined));
  return listening.connecting;
}

async function connect(listening: ListenerState): Promise<void> {
  const client = makeClient(listening);
  const ear: ListeningConnection = { client, channels: new Set() };
  listening.queue = Promise.resolve();
  try {
    await client.connect();
    await listenToAll(listening, ear);
  } catch (error) {
    dropClient(listening, client);
    throw error;
  }
  if (listening.isClosed) return dropClient(listening, client); // closed during the reconnect
  listening.current = ear;
  listening.lastHeardAt = performance.now();
  // The first heartbeat that comes back proves that the LISTENs took effect; only then may caches be filled again.
  await sendHeartbeat(listening, client);
}

function makeClient(listening: ListenerState): pg.Client {
  const client = new pg.Client({
    ...listening.connection,
    connectionTimeoutMillis: 2_000,
    query_timeout: listening.statementTimeoutMs,
    keepAlive: true,
    application_name: listening.name,
  });
  client.on('error', () => dropClient(listening, client));
  client.on('end', () => dropClient(listening, client));
  client.on('notification', ({ channel, payload }) => onNotification(listening, client, channel, payload ?? ''));
  return client;
}

/** A channel may be added while the others are being listened to. */
async function listenToAll(listening: ListenerState, ear: ListeningConnection): Promise<void> {
  const nextChannel = () => [...listening.channels.keys()].find((channel) => !ear.channels.has(channel));
  for (let next = nextChannel(); next !== undefined && !listening.isClosed; next = nextChannel()) await listenTo(listening, ear, next);
}

async function listenTo(listening: ListenerState, ear: ListeningConnection, channel: string): Promise<void> {
  await execute(listening, ear.client, `listen "${channel}"`);
  ear.channels.add(channel);
}

const sendHeartbeat = (listening: ListenerState, client: pg.Client) =>
  execute(listening, client, 'select pg_notify($1, $2)', [listening.heartbeatChannel, '']);

/** After a failed statement the state of a connection is unknown, so it is dropped. */
async function execute(listening: ListenerState, client: pg.Client, text: string, values: string[] = []): Promise<void> {
  const asked = listening.queue.then(() => client.query(text, values));
  listening.queue = asked.catch(() => {});
  try {
    await asked;
  } catch (error) {
    dropClient(listening, client);
    throw error;
  }
}

function addListener(listening: ListenerState, channel: string, act: (payload: string) => void): void {
  const { channels, current } = listening;
  const known = channels.get(channel);
  if (known) return void known.push(act);
  channels.set(channel, [act]);
  if (current) joinChannel(listening, current, channel).catch(() => {});
}

/** A new channel on a working connection: until its LISTEN has taken effect the listener is deaf, whatever the heartbeat says. */
async function joinChannel(listening: ListenerState, ear: ListeningConnection, channel: string): Promise<void> {
  await listenTo(listening, ear, channel);
  notifyChange(listening, true); // caches filled meanwhile must be cleared
}

// Driver events arrive in the middle of the driver's own work, so they are only recorded there. Listeners are called in microtasks of their
// own, in order.

function onNotification(listening: ListenerState, client: pg.Client, channel: string, payload: string): void {
  if (listening.current?.client !== client) return; // not all channels have answered yet
  listening.lastHeardAt = performance.now();
  if (channel === listening.heartbeatChannel) {
    const isReconnected = listening.hasBeaten && !listening.isBeating;
    listening.isBeating = true;
    listening.hasBeaten = true;
    notifyChange(listening);
    if (isReconnected) notifyReconnected(listening);
  } else notifyChannel(listening, channel, payload);
}

function dropClient(listening: ListenerState, lost: pg.Client): void {
  queueMicrotask(() => endQuietly(lost));
  if (listening.current?.client !== lost) return;
  forgetConnection(listening);
  notifyChange(listening);
}

const notifyChannel = ({ channels }: ListenerState, channel: string, payload: string) =>
  queueMicrotask(() => {
    for (const hear of channels.get(channel) ?? []) hear(payload);
  });

const notifyChange = (listening: ListenerState, always = false) =>
  queueMicrotask(() => {
    const now = isHearing(listening);
    if (now === listening.lastReported && !always) return;
    listening.lastReported = now;
    for (const act of listening.changeListeners) act(now);
  });

const notifyReconnected = ({ reconnectListeners }: ListenerState) =>
  queueMicrotask(() => {
    for (const act of reconnectListeners) act();
  });

function forgetConnection(listening: ListenerState): void {
  listening.current = undefined;
  listening.isBeating = false;
}

async function closeListener(listening: ListenerState): Promise<void> {
  listening.isClosed = true;
  const last = listening.current?.client;
  forgetConnection(listening);
  if (last) await endQuietly(last);
}

/** Errors of a dropped socket are irrelevant. */
function endQuietly(client: pg.Client): Promise<void> {
  client.removeAllListeners();
  client.on('error', () => {});
  return client.end().catch(() => {});
}
