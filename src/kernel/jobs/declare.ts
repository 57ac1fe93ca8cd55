import type { Static, TSchema, TUndefined } from 'typebox';
import type { App } from '../app.ts';
import type { Db, Tx } from '../db/index.ts';
import type { Logger } from '../log.ts';
import type { Sql } from '../sql.ts';

export const lanes = ['page', 'mail', 'webhook', 'default'] as const;
export type Lane = (typeof lanes)[number];

/** The arguments of a handler. It may run more than once for one job: after a crash, a lost lease or a failure. */
export interface JobRun<P> {
  app: App;
  /** The lane's own connections: a page never waits behind requests. */
  db: Db;
  payload: P;
  key: string;
  org: string | undefined;
  /** The id of the request that caused the job, for tracing in the log. */
  requestId: string | undefined;
  /** 1 the first time. */
  attempt: number;
  /** Aborted when the lease is lost, or the process stops: start nothing new. */
  signal: AbortSignal;
  log: Logger;
  /** Ends the job in the transaction of its effects: both commit or neither. Neither commits when another worker holds the lease now. */
  finishWith<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /**
   * The same for effects of one statement: `ended` is a subquery that ends the job, and returns a row if it did. False: the statement
   * changed nothing. The job was rescheduled, the lease is lost, or it failed; `finishWith` then tells which.
   */
  finishBy(write: (tx: Tx, ended: Sql) => Promise<number>): Promise<boolean>;
  /** For effects of one statement before the end: a subquery that returns a row, and locks it, while this worker holds the lease. */
  fenced: Sql;
  /** For effects before the end: throws when the lease is lost. The job cannot be claimed until this transaction ends. */
  fence(tx: Tx): Promise<void>;
}

export interface JobOptions {
  lane?: Lane;
  /** How long the job of a crashed worker stays leased. Renewed every 10 s while the handler runs. */
  leaseSeconds?: number;
  /** Seconds until the next attempt after this one failed; undefined: dead. Default: 5 s · 2ⁿ up to 1 h, ± 20 %. */
  retry?: (attempt: number) => number | undefined;
  maxAttempts?: number;
  /**
   * A job that is due at once may be inserted under a lease of this process, and starts here after COMMIT. Only for handlers whose first
   * statement checks the lease.
   */
  beginsHere?: boolean;
  /** At the deadline the signal is aborted and the attempt has failed, whether or not the handler ever ends. Its slot is free again. */
  deadlineSeconds?: number;
}

/** `Own`: the running state of its area. */
export interface Job<P = unknown, Own = never> {
  kind: string;
  lane: Lane;
  leaseSeconds: number;
  retry: JobOptions['retry'];
  maxAttempts: number;
  deadlineSeconds: number;
  beginsHere: boolean;
  payload: TSchema | undefined;
  // A method, so that a list may hold jobs of any payload.
  run(run: JobRun<P>, own: Own): Promise<unknown>;
}

/** A job by name alone: for an area that enqueues a job which a dependent area declares and runs. */
export type NamedJob = Pick<Job, 'kind' | 'lane'> & { beginsHere?: boolean };

/** Declares a kind of job. Document beside it what happens when it runs twice. */
export function job<S extends TSchema = TUndefined, Own = unknown>(
  kind: string,
  options: JobOptions & { payload?: S },
  run: (run: JobRun<Static<S>>, own: Own) => Promise<unknown>,
): Job<Static<S>, Own> {
  const { lane = 'default', leaseSeconds = 30, retry, maxAttempts = 20, deadlineSeconds = 300, beginsHere = false, payload } = options;
  // Below 20 s, one late renewal would lose the job. Above 600 s, a crash would delay it beyond what housekeeping takes for a broken clock.
  if (leaseSeconds < 20 || leaseSeconds > 600) throw new RangeError(`the lease of ${kind} must be 20 to 600 seconds, not ${leaseSeconds}`);
  return { kind, lane, leaseSeconds, retry, maxAttempts, deadlineSeconds, beginsHere, payload, run };
}

export interface TaskRun {
  app: App;
  signal: AbortSignal;
  log: Logger;
}

export interface Task<Own = never> {
  name: string;
  everySeconds: number;
  deadlineSeconds: number;
  // A method, so that a list may hold tasks of any area.
  run(run: TaskRun, own: Own): Promise<unknown>;
}

/** Declares work without input: it compares the desired state with the actual one, and acts. One process at a time runs it. */
export const task = <Own = unknown>(
  name: string,
  options: { everySeconds: number; deadlineSeconds: number },
  run: (run: TaskRun, own: Own) => Promise<unknown>,
): Task<Own> => ({ name, ...options, run });

/** A job as a worker runs it: bound to the state of its area. */
export type ReadyJob = Job<never, undefined>;
export type ReadyTask = Task<undefined>;

/** Thrown by a handler that knows when a retry makes sense, such as after a Retry-After. */
export class RetryIn extends Error {
  readonly seconds: number;

  constructor(seconds: number, sentence: string, options?: { cause?: unknown }) {
    super(sentence, options);
    this.name = 'RetryIn';
    this.seconds = seconds;
  }
}

/** The same with a time by the product's clock. */
export class RetryAt extends Error {
  readonly at: string;

  constructor(at: string, sentence: string, options?: { cause?: unknown }) {
    super(sentence, options);
    this.name = 'RetryAt';
    this.at = at;
  }
}

/** Thrown by a handler that knows that a retry will not help: the job is dead at once, with this sentence. */
export class GiveUp extends Error {
  constructor(sentence: string, options?: { cause?: unknown }) {
    super(sentence, options);
    this.name = 'GiveUp';
  }
}

/** Another worker holds the job now, or it is finished or cancelled: further work on it would be done twice. */
export class LeaseLost extends Error {
  constructor(sentence = 'the lease on this job is lost; whoever holds it now runs it again') {
    super(sentence);
    this.name = 'LeaseLost';
  }
}

/** Why `signal` is aborted when the process stops: the job is released and its attempt does not count. */
export class Stopping extends Error {
  constructor() {
    super('this process is stopping');
    this.name = 'Stopping';
  }
}
