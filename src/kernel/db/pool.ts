import { AsyncLocalStorage } from 'node:async_hooks';
import type pg from 'pg';
import {
  currentContext,
  type FairSemaphore,
  type LoopWatch,
  makeFairSemaphore,
  systemContext,
  TenantThrottled,
  type WorkContext,
} from '../fairness/index.ts';
import { ConnectionQueue, defaultMax, type OnError, openPool, type PoolOptions } from './connections.ts';
import { asUnavailable, codeOf, DatabaseBusy, DatabaseFull, DatabaseSlow, isRetryable } from './errors.ts';
import { makeTransactionState, runTransaction, type Slots, type TransactionState, type Tx } from './transaction.ts';
import { autocommit, inTransaction, type TransactionMode } from './transaction-mode.ts';

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

export interface DbOptions extends PoolOptions {
  /** The limit of connections for one organization. Default: all. */
  perOrg?: number;
  /** The limit while other organizations want connections too: the database has fewer processors than connections. Default: `perOrg`. */
  perOrgWhenContended?: number;
  watch?: LoopWatch | undefined;
  /** Called with each organization that timed out waiting for a connection. */
  refused?: (org: string) => void;
  checkRows?: boolean;
  /**
   * How long a caller waits for a connection in use before another is opened, since opening takes longer than most work does. The caller
   * then takes whichever connection is free first. Default 0: open at once.
   */
  patienceMs?: number;
}

export function openDb(options: DbOptions): Db {
  const { pool, end } = openPool(options);
  const units = new UnitsOfWork(pool, options);
  return {
    read: (work) => units.run(autocommit, work),
    write: (work) => units.run(inTransaction, work),
    onWake: (act) => units.wakers.push(act),
    lend: (slots) => {
      units.slots = slots;
      return () => {
        if (units.slots === slots) units.slots = undefined;
      };
    },
    pool,
    sinceFull: () => performance.now() - units.fullAt,
    connectionSlots: units.turns,
    end,
  };
}

/** Runs each unit of work on a connection of its own, when it is its tenant's turn. */
class UnitsOfWork {
  readonly turns: FairSemaphore;
  readonly wakers: ((channel: string) => void)[] = [];
  slots: Slots | undefined;
  fullAt = Number.NEGATIVE_INFINITY;
  readonly #connections: ConnectionQueue;
  readonly #watch: LoopWatch | undefined;
  readonly #onError: OnError | undefined;
  readonly #checksRows: boolean;
  /** In tests: the unit of work that surrounds a call. */
  readonly #openUnit: AsyncLocalStorage<OpenUnit> | undefined;

  constructor(pool: pg.Pool, options: DbOptions) {
    const { max = defaultMax, perOrg = max, perOrgWhenContended = perOrg, watch, refused, checkRows = false } = options;
    this.turns = makeFairSemaphore({ slots: max, perOrg, perOrgWhenContended, ...(refused ? { onRefused: refused } : {}) });
    this.#connections = new ConnectionQueue(pool, options.patienceMs ?? 0);
    this.#watch = watch;
    this.#onError = options.onError;
    this.#checksRows = checkRows;
    this.#openUnit = checkRows ? new AsyncLocalStorage() : undefined;
  }

  /**
   * The victim of a deadlock is rolled back, so it can simply run again. So can the loser of a race for a unique name, and a row whose parent
   * was just deleted: the second run sees the winner's changes.
   */
  async run<T>(mode: TransactionMode, work: (tx: Tx) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      const state = makeTransactionState(this.#checksRows, this.#watch, mode.lendsSlots ? this.slots : undefined);
      try {
        return await this.#runOnce(mode, work, state);
      } catch (error) {
        if (codeOf(error) === '40P01') this.#reportDeadlock(error);
        if (attempt >= 3 || !isRetryable.has(codeOf(error)) || !mode.isUndone(state, error)) throw error;
      }
    }
  }

  /** Listeners are notified once the connection is free for others. */
  async #runOnce<T>(mode: TransactionMode, work: (tx: Tx) => Promise<T>, state: TransactionState): Promise<T> {
    this.#refuseNested();
    const context = currentContext();
    const rest = this.#watch?.takeTurn(context);
    if (rest) await rest;
    const turn = takeTurn(this.turns, context);
    if (turn) await turn;
    const client = await this.#connections.take().catch((error) => {
      this.turns.release(context.org);
      throw error;
    });
    let broken: Error | undefined;
    let result: T;
    try {
      result = await mode.around(client, () => this.#runWork(client, state, work));
    } catch (error) {
      const unavailable = asUnavailable(error);
      if (unavailable instanceof DatabaseFull) this.fullAt = performance.now();
      // A cancelled statement leaves its connection usable.
      broken = unavailable === undefined || unavailable instanceof DatabaseSlow ? await mode.undo(client) : unavailable;
      this.#notifyFailed(state, broken === undefined);
      throw unavailable ?? error;
    } finally {
      client.release(broken);
      this.turns.release(context.org);
    }
    this.#notifyCommitted(state);
    return result;
  }

  #runWork<T>(client: pg.PoolClient, state: TransactionState, work: (tx: Tx) => Promise<T>): Promise<T> {
    const unit = this.#openUnit;
    return unit ? trackUnit(unit, () => runTransaction(client, state, work)) : runTransaction(client, state, work);
  }

  #refuseNested(): void {
    if (this.#openUnit?.getStore()?.isOver === false && currentContext() !== systemContext)
      throw new Error('a unit of work begins inside another: it would wait for what that one holds');
  }

  #notifyCommitted(state: TransactionState): void {
    state.outcome = 'committed';
    callEach([...state.commitListeners, ...this.#wakesOf(state)], this.#onError);
  }

  #wakesOf({ markedChannels }: TransactionState): (() => void)[] {
    return [...markedChannels].flatMap((channel) => this.wakers.map((waken) => () => waken(channel)));
  }

  #notifyFailed(state: TransactionState, isKnown: boolean): void {
    state.outcome = isKnown ? 'failed' : 'in doubt';
    const acts = state.failureListeners.map((act) => () => act(isKnown));
    // It may have committed: a hint too many does no harm, one too few may.
    callEach(isKnown ? acts : [...acts, ...this.#wakesOf(state)], this.#onError);
  }

  #reportDeadlock(error: unknown): void {
    this.#onError?.(new Error(`a deadlock: ${(error as { detail?: string }).detail ?? ''}`, { cause: error }));
  }
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

const takeTurn = (turns: FairSemaphore, { org, isSystem, isUrgent }: WorkContext): Promise<void> | undefined =>
  turns.acquire(org, isSystem, isUrgent)?.catch((error) => {
    throw error instanceof TenantThrottled ? new DatabaseBusy(error) : error;
  });
