import type { Static, TSchema, TUndefined } from 'typebox';
import type { App } from '../app.ts';
import type { Db, Tx } from '../db/index.ts';
import type { Logger } from '../log.ts';
import type { Sql } from '../sql.ts';

export const lanes = ['page', 'mail', 'webhook', 'default'] as const;
export type Lane = (typeof lanes)[number];

/** What a handler is given. It may run more than once for one job: after a crash, a lost lease or a failure. */
export interface JobRun<P> {
  app: App;
  /** The lane's own connections: a page never waits behind requests for one. */
  db: Db;
  payload: P;
  key: string;
  org: string | undefined;
  /** Of the request that caused the job, for the log of whoever follows it through. */
  requestId: string | undefined;
  /** 1 the first time. */
  attempt: number;
  /** Aborted when the job is not ours any more, or the process stops: give up what has not begun. */
  signal: AbortSignal;
  log: Logger;
  /** Ends the job in the transaction of its effects: both happen or neither, and neither when somebody else holds the job now. */
  finishWith<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /**
   * The same where the effects are one statement: `ended` is a query of it that ends the job, and has a row if it did. False: the statement
   * touched nothing, for the job was asked to run again or is not ours, or it failed; `finishWith` then says which.
   */
  finishBy(write: (tx: Tx, ended: Sql) => Promise<number>): Promise<boolean>;
  /** For effects before the end that are one statement: a query that has a row, and holds it, while the job is ours. */
  fenced: Sql;
  /** For effects before the end: throws when the job is not ours, and nobody can take it until this transaction ends. */
  fence(tx: Tx): Promise<void>;
}

export interface JobOptions {
  lane?: Lane;
  /** How long a vanished worker keeps the job from the others. Renewed every 10 s while the handler runs. */
  leaseSeconds?: number;
  /** Seconds until the next attempt after this one failed; undefined: dead. Default: 5 s · 2ⁿ up to 1 h, ± 20 %. */
  retry?: (attempt: number) => number | undefined;
  maxAttempts?: number;
  /**
   * One that is due at once may be inserted under a lease of the process that causes it, and begins there after COMMIT. Only for handlers
   * whose first word to the database asks whether the job is theirs.
   */
  beginsHere?: boolean;
  /** Then its signal is aborted and the attempt has failed, whether or not the handler ever ends: no slot hangs with it. */
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

/** A job by its name alone, for an area that causes work which another area, one that leans on it, declares and does. */
export type NamedJob = Pick<Job, 'kind' | 'lane'> & { beginsHere?: boolean };

/** Declares a kind of job. Say beside it what happens when it runs twice. */
export function job<S extends TSchema = TUndefined, Own = unknown>(
  kind: string,
  options: JobOptions & { payload?: S },
  run: (run: JobRun<Static<S>>, own: Own) => Promise<unknown>,
): Job<Static<S>, Own> {
  const { lane = 'default', leaseSeconds = 30, retry, maxAttempts = 20, deadlineSeconds = 300, beginsHere = false, payload } = options;
  // Below, one late renewal would lose the job; above, a crash would delay it beyond what housekeeping takes for a broken clock.
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

/** Declares work without input: it compares what should be with what is, and acts. One process at a time runs it. */
export const task = <Own = unknown>(
  name: string,
  options: { everySeconds: number; deadlineSeconds: number },
  run: (run: TaskRun, own: Own) => Promise<unknown>,
): Task<Own> => ({ name, ...options, run });

/** A job as a worker runs it: bound to the state of its area. */
export type ReadyJob = Job<never, undefined>;
export type ReadyTask = Task<undefined>;

/** Thrown by a handler that knows when trying again makes sense, such as after a Retry-After. */
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

/** Thrown by a handler that knows that trying again will not help: the job is dead at once, with this sentence. */
export class GiveUp extends Error {
  constructor(sentence: string, options?: { cause?: unknown }) {
    super(sentence, options);
    this.name = 'GiveUp';
  }
}

/** The job is somebody else's now, finished, or cancelled: whatever we still do about it would be done twice. */
export class LeaseLost extends Error {
  constructor(sentence = 'the lease on this job is lost; whoever holds it now runs it again') {
    super(sentence);
    this.name = 'LeaseLost';
  }
}

/** Why `signal` is aborted when the process stops: the job goes back to the others and its attempt does not count. */
export class Stopping extends Error {
  constructor() {
    super('this process is stopping');
    this.name = 'Stopping';
  }
}
