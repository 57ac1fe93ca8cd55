import { randomInt } from 'node:crypto';
import type { TSchema } from 'typebox';
import { Compile, type Validator } from 'typebox/schema';
import type { App } from '../app.ts';
import type { Db, Tx } from '../db/index.ts';
import { runFor, systemContext } from '../fairness/index.ts';
import type { Logger } from '../log.ts';
import type { Sql } from '../sql.ts';
import { type JobRun, LeaseLost, type ReadyJob } from './declare.ts';
import type { LeasedJob } from './leased-jobs.ts';
import { type Outcome, outcomeOf } from './outcome.ts';
import { endingOne, fencedOne, fenceOne, finishOne } from './store.ts';
import { laneChannel } from './wake.ts';

interface Worker {
  app: App;
  db: Db;
}

/** Runs a handler once and returns the outcome; undefined when the handler itself has recorded it. */
export async function runOnce({ app, db }: Worker, declared: ReadyJob, leased: LeasedJob): Promise<Outcome | undefined> {
  const { job, abort } = leased;
  if (job.attempts > declared.maxAttempts) return outcomeOfVanished(declared);
  const log = app.log.child({ job: job.id, kind: job.kind, requestId: job.request_id ?? undefined });
  const ending = new HandlerEnding(db, leased);
  const run = describeRun({ app, db }, leased, ending, log);
  try {
    checkPayload(declared, job.payload);
    await withinDeadline(
      declared,
      abort,
      runInContext(app, declared, job, () => declared.run(run as JobRun<never>, undefined)),
    );
    return ending.isRecorded ? undefined : { is: 'done' };
  } catch (error) {
    if (!ending.isRecorded) return outcomeOfFailure(error, declared, leased, log);
    log.error({ err: error }, 'a job failed after it had finished; what it wanted to do then is not done');
    return undefined;
  }
}

/** Claimed once more than allowed: its last workers neither finished nor failed it, they crashed. */
const outcomeOfVanished = ({ maxAttempts }: ReadyJob): Outcome => ({
  is: 'dead',
  error: `its worker vanished while running it, and ${maxAttempts} attempts are used up; look at what this job does to its process`,
});

function outcomeOfFailure(error: unknown, declared: ReadyJob, { job, abort }: LeasedJob, log: Logger): Outcome {
  // A handler that stops because its signal was aborted may throw anything; the signal's reason counts.
  const reason = abort.signal.aborted ? abort.signal.reason : error;
  if (error instanceof LeaseLost || reason instanceof LeaseLost) return { is: 'released' };
  const outcome = outcomeOf(reason, declared, job.attempts, randomInt(2 ** 20) / 2 ** 20);
  if (outcome.is === 'dead')
    log.error({ err: error, jobKey: job.key, attempt: job.attempts }, 'a job is dead: it failed for the last time');
  return outcome;
}

/** The handler's view of its job. */
const describeRun = ({ app, db }: Worker, { job, abort }: LeasedJob, ending: HandlerEnding, log: Logger): JobRun<unknown> => ({
  app,
  db,
  payload: job.payload ?? undefined,
  key: job.key,
  org: job.org_id ?? undefined,
  requestId: job.request_id ?? undefined,
  attempt: job.attempts,
  signal: abort.signal,
  log,
  finishWith: (work) => ending.finishWith(work),
  finishBy: (write) => ending.finishBy(write),
  fenced: fencedOne(job),
  fence: (tx) => fenceOne(tx, job),
});

/** A handler may record the end of its job itself, together with its effects. */
class HandlerEnding {
  isRecorded = false;
  readonly #db: Db;
  readonly #leased: LeasedJob;

  constructor(db: Db, leased: LeasedJob) {
    this.#db = db;
    this.#leased = leased;
  }

  async finishWith<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    const { job, lane } = this.#leased;
    this.#leased.isEnding = true;
    try {
      const result = await this.#db.write(async (tx) => {
        // The end of the job is the first statement; if the lease is lost, the statements behind it are rolled back too.
        const [settled, done] = await Promise.all([finishOne(tx, job), work(tx)]);
        if (settled === 'again') tx.wake(laneChannel(lane));
        return done;
      });
      this.isRecorded = true;
      return result;
    } finally {
      this.#settle();
    }
  }

  async finishBy(write: (tx: Tx, ended: Sql) => Promise<number>): Promise<boolean> {
    this.#leased.isEnding = true;
    // A failure need not be reported: the following `finishWith` fails too, or finds that the job has ended.
    if (!this.isRecorded) this.isRecorded = (await this.#db.read((tx) => write(tx, endingOne(this.#leased.job))).catch(() => 0)) > 0;
    this.#settle();
    return this.isRecorded;
  }

  /** An ended job needs no lease. Otherwise the job is ours only as long as the renewals succeed. */
  #settle(): void {
    this.#leased.isEnding = this.isRecorded;
    if (this.isRecorded) this.#leased.validUntil = Number.POSITIVE_INFINITY;
  }
}

const runInContext = <T>({ watch }: App, { kind, lane }: ReadyJob, { org_id }: LeasedJob['job'], work: () => T): T =>
  runFor(org_id ? { org: org_id, operation: kind, isUrgent: lane === 'page' } : { ...systemContext, operation: kind }, work, watch);

async function withinDeadline({ deadlineSeconds }: ReadyJob, abort: AbortController, ended: Promise<unknown>) {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const error = new Error(`it did not end within its deadline of ${deadlineSeconds} s`);
    abort.abort(error);
    reject(error);
  }, deadlineSeconds * 1000).unref(); // a job that a stopped worker has released must not keep the process alive until then
  try {
    await Promise.race([ended, late]);
  } finally {
    clearTimeout(timer);
    ended.catch(() => {}); // errors after that belong to a job whose lease is lost
  }
}

const validators = new WeakMap<TSchema, Validator>();

/** Another release may have written it. During a rolling upgrade, the next attempt may reach a worker that understands it. */
function checkPayload({ payload: schema }: ReadyJob, payload: unknown) {
  if (!schema) return;
  const validator = validators.get(schema) ?? Compile(schema);
  validators.set(schema, validator);
  if (validator.Check(payload)) return;
  const first = validator.Errors(payload)[1][0];
  throw new Error(`its payload is not what this release expects: ${first?.instancePath || 'it'} ${first?.message ?? 'does not fit'}`);
}
