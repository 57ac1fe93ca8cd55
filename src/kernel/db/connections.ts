import pg from 'pg';
import { asUnavailable } from './errors.ts';
import { coalescingSocket } from './socket.ts';
import { types } from './types.ts';

export type Connection = Pick<pg.ClientConfig, 'host' | 'port' | 'user' | 'password' | 'database' | 'ssl' | 'connectionString'>;

export type OnError = (error: Error) => void;

export interface PoolOptions {
  connection: Connection;
  max?: number;
  /** Receives a connection lost while idle, a commit listener that threw, and a deadlock with the statements that waited for each other. */
  onError?: OnError;
  /** PostgreSQL settings of these connections alone. */
  settings?: Record<string, string>;
}

const limits = {
  connectionTimeoutMillis: 2_000,
  statement_timeout: 9_000,
  query_timeout: 10_000,
  lock_timeout: 3_000,
  idle_in_transaction_session_timeout: 15_000,
};

export const defaultMax = 8;

export function openPool({ connection, max = defaultMax, settings, onError }: PoolOptions) {
  // The connection is read anew for each client: another host may be the writable one by then.
  class Client extends pg.Client {
    constructor(config: pg.ClientConfig) {
      super({ ...config, ...connection });
    }
  }
  const pool = new pg.Pool({
    ...connection,
    Client: Client as unknown as new () => pg.ClientBase,
    ...limits,
    max,
    idleTimeoutMillis: 60_000,
    pipeline: true,
    stream: coalescingSocket,
    types,
    options: startupOptions(settings),
    application_name: 'quarterdeck',
  });
  let ending = false; // from then on a connection that the server closes first is not an error
  pool.on('error', (error) => ending || onError?.(error));
  // The pool listens to idle connections only. A connection that dies in use fails its query, and its unheard event would also end the
  // process.
  pool.on('connect', (client) => client.on('error', () => {}));
  const end = () => {
    ending = true;
    return pool.end();
  };
  return { pool, end };
}

const startupOptions = (settings: Record<string, string> = {}) =>
  ['TimeZone=UTC', ...Object.entries(settings).map(([name, value]) => `${name}=${value}`)].map((setting) => `-c ${setting}`).join(' ');

/** A new connection plans every statement, which takes longer than the work itself. So in the first 2 s callers wait four times as long. */
const coldStart = { ms: 2_000, times: 4 };

/**
 * Hands out the pool's connections. While all are in use, a caller first waits `openAfterMs` for one of them; only then another is opened.
 * Openings belong to no particular caller: each waiter takes the first connection that is free, the new one or a released one.
 */
export class ConnectionQueue {
  readonly #pool: pg.Pool;
  readonly #openAfterMs: number;
  readonly #createdAt = performance.now();
  readonly #waiters = new Set<() => void>();
  #isOpening = false;
  /** The last failed opening, and when it began. */
  #failure: { error: unknown; since: number } | undefined;

  constructor(pool: pg.Pool, openAfterMs: number) {
    this.#pool = pool;
    this.#openAfterMs = openAfterMs;
    // The pool emits the event before the connection is back in it.
    pool.on('release', () => queueMicrotask(() => this.#waiters.values().next().value?.()));
  }

  async take(): Promise<pg.PoolClient> {
    const from = performance.now();
    const waitUntil = from + (from - this.#createdAt < coldStart.ms ? coldStart.times : 1) * this.#openAfterMs;
    const deadline = this.#openAfterMs > 0 ? waitUntil + limits.connectionTimeoutMillis : from;
    // Acquired in the same turn in which it was seen free; otherwise two callers would see the same connection.
    for (let at = from; at < deadline && isAllInUse(this.#pool); at = performance.now()) {
      const isPatient = at < waitUntil;
      const failureBefore = this.#failure;
      if (!isPatient) this.#openInBackground();
      await this.#nextRelease((isPatient ? waitUntil : deadline) - at);
      if (!isPatient && this.#failure !== failureBefore) this.#throwFailureSince(waitUntil);
    }
    return this.#acquire();
  }

  /** A failed opening counts only for callers that waited before it began; the others open another. */
  #throwFailureSince(waitUntil: number): void {
    const failure = this.#failure;
    if (failure && failure.since >= waitUntil && isAllInUse(this.#pool)) throw asUnavailable(failure.error) ?? failure.error;
  }

  #acquire(): Promise<pg.PoolClient> {
    const pool = this.#pool;
    const since = performance.now();
    const opens = pool.totalCount < pool.options.max && pool.idleCount <= pool.waitingCount; // otherwise only this caller timed out
    return pool.connect().catch((error) => {
      if (opens) this.#fail(error, since);
      throw asUnavailable(error) ?? error;
    });
  }

  /** Opens one connection at a time. */
  #openInBackground(): void {
    if (this.#isOpening) return;
    this.#isOpening = true;
    const since = performance.now();
    const open = async () => (await this.#pool.connect()).release();
    open()
      .finally(() => {
        this.#isOpening = false;
      })
      .then(
        () => this.#wakeAll(),
        (error) => this.#fail(error, since),
      );
  }

  #fail(error: unknown, since: number): void {
    this.#failure = { error, since };
    this.#wakeAll();
  }

  /** An opening has ended: the first waiter takes the new connection, the next waiter opens another. */
  #wakeAll(): void {
    for (const wake of [...this.#waiters]) wake();
  }

  #nextRelease(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        this.#waiters.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, ms);
      this.#waiters.add(wake);
    });
  }
}

/** Or promised to a waiter, and one more may be opened. */
const isAllInUse = ({ idleCount, waitingCount, totalCount, options: { max } }: pg.Pool) =>
  idleCount <= waitingCount && totalCount > 0 && totalCount < max;
