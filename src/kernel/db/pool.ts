import { AsyncLocalStorage } from 'node:async_hooks';
import pg from 'pg';
import {
  currentContext,
  type FairSemaphore,
  type LoopWatch,
  makeFairSemaphore,
  systemContext,
  TenantThrottled,
  type WorkContext,
} from '../fairness/index.ts';
import { asUnavailable, codeOf, DatabaseBusy, DatabaseFull, DatabaseSlow, isRetryable } from './errors.ts';
import { coalescingSocket } from './socket.ts';
import { makeTransactionState, runTransaction, type Slots, type TransactionState, type Tx } from './transaction.ts';
import { types } from './types.ts';

export type Connection = Pick<pg.ClientConfig, 'host' | 'port' | 'user' | 'password' | 'database' | 'ssl' | 'connectionString'>;

export interface Db {
  /** Statements that need no transaction of their own. */
  read<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  write<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /** Called for every channel that a transaction marked, once it has committed. */
  onWake(act: (channel: string) => void): void;
  /** Jobs that transactions create may start in these slots from now on. Returns a function that withdraws them. */
  lend(slots: Slots): () => void;
  /** Connection counts (free, idle, waiting) for the metrics. */
  pool: pg.Pool;
  /** Milliseconds since a statement failed because the database's disk was full; infinite if none has. */
  sinceFull(): number;
  /** Connections in use and waiting callers, by organization. */
  connectionSlots: FairSemaphore;
  end(): Promise<void>;
}

type OnError = (error: Error) => void;

export interface DbOptions {
  connection: Connection;
  max?: number;
  /** The limit of connections for one organization. Default: all. */
  perOrg?: number;
  /** The limit while other organizations want connections too: the database has fewer processors than connections. Default: `perOrg`. */
  perOrgWhenContended?: number;
  watch?: LoopWatch | undefined;
  /** Called with each organization that timed out waiting for a connection. */
  refused?: (org: string) => void;
  checkRows?: boolean;
  /** Receives a connection lost while idle, a commit listener that threw, and a deadlock with the statements that waited for each other. */
  onError?: OnError;
  /**
   * How long a caller waits for a connection in use before another is opened, since opening takes longer than most work does. The caller
   * then takes whichever connection is free first. Default 0: open at once.
   */
  patienceMs?: number;
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

export function openDb(options: DbOptions): Db {
  const { pool, end } = openPool(options);
  const connect = makeConnect(pool, options.patienceMs ?? 0);
  const { max = defaultMax, perOrg = max, perOrgWhenContended = perOrg, watch, refused, checkRows: checksRows = false } = options;
  const turns = makeFairSemaphore({ slots: max, perOrg, perOrgWhenContended, ...(refused ? { onRefused: refused } : {}) });
  const unit = checksRows ? new AsyncLocalStorage<OpenUnit>() : undefined;
  const makeState = (lent?: Slots) => makeTransactionState(checksRows, watch, lent);
  const wakers: ((channel: string) => void)[] = [];
  let slots: Slots | undefined;
  let fullAt = Number.NEGATIVE_INFINITY;

  const notifyAll = (acts: readonly (() => void)[]) => callEach(acts, options.onError);
  const notifyCommitted = (state: TransactionState) => {
    state.outcome = 'committed';
    notifyAll([...state.commitListeners, ...[...state.markedChannels].flatMap((channel) => wakers.map((waken) => () => waken(channel)))]);
  };
  const notifyFailed = (state: TransactionState, isKnown: boolean) => {
    state.outcome = isKnown ? 'failed' : 'in doubt';
    notifyAll(state.failureListeners.map((act) => () => act(isKnown)));
  };

  /** Runs one unit of work on a connection of its own. Listeners are notified once the connection is free for others. */
  const runUnit = async <T>(work: (tx: Tx) => Promise<T>, { around, undo }: TransactionMode, state: TransactionState): Promise<T> => {
    if (unit?.getStore()?.isOver === false && currentContext() !== systemContext)
      throw new Error('a unit of work begins inside another: it would wait for what that one holds');
    const context = currentContext();
    const rest = watch?.takeTurn(context);
    if (rest) await rest;
    const { org } = context;
    const turn = takeTurn(turns, context);
    if (turn) await turn;
    const client = await connect().catch((error) => {
      turns.release(org);
      throw error;
    });
    let broken: Error | undefined;
    let result: T;
    try {
      result = await around(client, () =>
        unit ? trackUnit(unit, () => runTransaction(client, state, work)) : runTransaction(client, state, work),
      );
    } catch (error) {
      const unavailable = asUnavailable(error);
      if (unavailable instanceof DatabaseFull) fullAt = performance.now();
      const reason = unavailable ?? error;
      // A cancelled statement leaves its connection usable.
      broken = unavailable === undefined || unavailable instanceof DatabaseSlow ? await undo(client) : unavailable;
      notifyFailed(state, broken === undefined);
      throw reason;
    } finally {
      client.release(broken);
      turns.release(org);
    }
    notifyCommitted(state);
    return result;
  };

  return {
    read: (work) => retryUndone(autocommit, (state) => runUnit(work, autocommit, state), makeState, options.onError),
    write: (work) =>
      retryUndone(
        inTransaction,
        (state) => runUnit(work, inTransaction, state),
        () => makeState(slots),
        options.onError,
      ),
    onWake: (act) => wakers.push(act),
    lend: (given) => {
      slots = given;
      return () => {
        if (slots === given) slots = undefined;
      };
    },
    pool,
    sinceFull: () => performance.now() - fullAt,
    connectionSlots: turns,
    end,
  };
}

/** The transaction has ended. A listener that throws cannot make it look undone, nor keep the other listeners from being called. */
function callEach(acts: readonly (() => void)[], onError: OnError | undefined): void {
  for (const act of acts) {
    try {
      act();
    } catch (error) {
      onError?.(new Error('somebody who was to hear of the end of a transaction failed', { cause: error }));
    }
  }
}

/** In tests: whether a unit of work is still open. A request with two connections could deadlock on the pool once all are taken. */
interface OpenUnit {
  isOver: boolean;
}

async function trackUnit<T>(unit: AsyncLocalStorage<OpenUnit>, work: () => Promise<T>): Promise<T> {
  const mine: OpenUnit = { isOver: false };
  try {
    return await unit.run(mine, work);
  } finally {
    mine.isOver = true;
  }
}

const defaultMax = 8;

const takeTurn = (turns: FairSemaphore, { org, isSystem, isUrgent }: WorkContext): Promise<void> | undefined =>
  turns.acquire(org, isSystem, isUrgent)?.catch((error) => {
    throw error instanceof TenantThrottled ? new DatabaseBusy(error) : error;
  });

function openPool({ connection, max = defaultMax, settings, onError }: DbOptions) {
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

function makeConnect(pool: pg.Pool, openAfterMs: number): () => Promise<pg.PoolClient> {
  const waiting = new Set<() => void>();
  // The pool emits the event before the connection is back in it.
  pool.on('release', () => queueMicrotask(() => waiting.values().next().value?.()));
  let isOpening = false;
  let failure: { error: unknown; since: number } | undefined;
  /** An opening has ended: the first waiter takes the new connection, the next waiter opens another. */
  const wakeAll = () => {
    for (const wake of [...waiting]) wake();
  };
  /** `since`: when that opening began. */
  const fail = (error: unknown, since: number) => {
    failure = { error, since };
    wakeAll();
  };
  /** Opens one connection at a time, for no particular caller. Each waiter takes the first that is free: the new one or a released one. */
  const openInBackground = () => {
    if (isOpening) return;
    isOpening = true;
    const since = performance.now();
    const open = async () => (await pool.connect()).release();
    open()
      .finally(() => {
        isOpening = false;
      })
      .then(wakeAll, (error) => fail(error, since));
  };
  const nextRelease = (ms: number) =>
    new Promise<void>((resolve) => {
      const go = () => {
        clearTimeout(timer);
        waiting.delete(go);
        resolve();
      };
      const timer = setTimeout(go, ms);
      waiting.add(go);
    });
  const openedAt = performance.now();
  return async () => {
    const from = performance.now();
    const waitUntil = from + (from - openedAt < coldStart.ms ? coldStart.times : 1) * openAfterMs;
    const deadline = openAfterMs > 0 ? waitUntil + limits.connectionTimeoutMillis : from;
    // Acquired in the same turn in which it was seen free; otherwise two callers would see the same connection.
    for (let at = from; at < deadline && isAllInUse(pool); at = performance.now()) {
      const isWaiting = at < waitUntil;
      const before = failure;
      if (!isWaiting) openInBackground();
      await nextRelease((isWaiting ? waitUntil : deadline) - at);
      // A failed opening counts only for callers that waited before it began; the others open another.
      const isMine = failure !== before && failure !== undefined && failure.since >= waitUntil;
      if (!isWaiting && isMine && isAllInUse(pool)) throw asUnavailable(failure!.error) ?? failure!.error;
    }
    const since = performance.now();
    const opens = pool.totalCount < pool.options.max && pool.idleCount <= pool.waitingCount; // otherwise only this caller timed out
    return pool.connect().catch((error) => {
      if (opens) fail(error, since);
      throw asUnavailable(error) ?? error;
    });
  };
}

/** Or promised to a waiter, and one more may be opened. */
const isAllInUse = ({ idleCount, waitingCount, totalCount, options: { max } }: pg.Pool) =>
  idleCount <= waitingCount && totalCount > 0 && totalCount < max;

/** How a unit of work begins, ends and rolls back. */
interface TransactionMode {
  around<T>(client: pg.ClientBase, work: () => Promise<T>): Promise<T>;
  /** After a failure, on a connection that still answers. Returns the reason if the connection is unusable now. */
  undo(client: pg.ClientBase): Promise<Error | undefined>;
  /** Whether a unit of work that ended with this error left no changes. */
  isUndone(state: TransactionState, error: unknown): boolean;
}

/** Autocommit: each statement is its own transaction, so statements before the failed one may have changed rows. */
const autocommit: TransactionMode = {
  around: (_client, work) => work(),
  undo: async () => undefined,
  isUndone: ({ statementCount, failure }, error) => statementCount === 1 && error === failure,
};

const inTransaction: TransactionMode = {
  around: async (client, work) => {
    // Not awaited: the first statement travels with it. If BEGIN fails, that statement does not run either.
    const begun = client.query('begin');
    begun.catch(() => {});
    const result = await work();
    await begun;
    // After a failed statement that the caller caught, PostgreSQL answers COMMIT with ROLLBACK, which the driver does not report as an
    // error.
    const { command } = await client.query('commit');
    if (command !== 'COMMIT') throw new Error('the transaction was rolled back because one of its statements had failed');
    return result;
  },
  undo: (client) =>
    client.query('rollback').then(
      () => undefined,
      (error: Error) => error,
    ),
  isUndone: () => true,
};

/**
 * The victim of a deadlock is rolled back, so it can simply run again. So can the loser of a race for a unique name, and a row whose parent
 * was just deleted: the second run sees the winner's changes.
 */
async function retryUndone<T>(
  { isUndone }: TransactionMode,
  act: (state: TransactionState) => Promise<T>,
  makeState: () => TransactionState,
  onError?: OnError,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const state = makeState();
    try {
      return await act(state);
    } catch (error) {
      if (codeOf(error) === '40P01') onError?.(new Error(`a deadlock: ${(error as { detail?: string }).detail ?? ''}`, { cause: error }));
      if (attempt >= 3 || !isRetryable.has(codeOf(error)) || !isUndone(state, error)) throw error;
    }
  }
}
