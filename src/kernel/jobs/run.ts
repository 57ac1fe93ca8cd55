import { randomInt } from 'node:crypto';
import type { TSchema } from 'typebox';
import { Compile, type Validator } from 'typebox/schema';
import type { App } from '../app.ts';
import type { Db } from '../db/index.ts';
import { runFor, systemContext } from '../fairness/index.ts';
import { type JobRun, LeaseLost, type ReadyJob } from './declare.ts';
import type { LeasedJob } from './leased-jobs.ts';
import { type Outcome, outcomeOf } from './outcome.ts';
import { endingOne, fencedOne, fenceOne, finishOne } from './store.ts';
import { laneChannel } from './wake.ts';

/** Runs a handler once and returns the outcome; undefined when the handler itself has recorded it. */
export async function runOnce({ app, db }: { app: App; db: Db }, declared: ReadyJob, leased: LeasedJob): Promise<Outcome | undefined> {
  const { job, abort } = leased;
  // Claimed once more than allowed: its last workers neither finished nor failed it, they crashed.
  if (job.attempts > declared.maxAttempts)
    return {
      is: 'dead',
      error: `its worker vanished while running it, and ${declared.maxAttempts} attempts are used up; look at what this job does to its process`,
    };

  let finished = false;
  const log = app.log.child({ job: job.id, kind: job.kind, requestId: job.request_id ?? undefined });
  const run: JobRun<unknown> = {
    app,
    db,
    payload: job.payload ?? undefined,
    key: job.key,
    org: job.org_id ?? undefined,
    requestId: job.request_id ?? undefined,
    attempt: job.attempts,
    signal: abort.signal,
    log,
    finishWith: async (work) => {
      leased.isEnding = true;
      try {
        const result = await db.write(async (tx) => {
          // The end of the job is the first statement; if the lease is lost, the statements behind it are rolled back too.
          const [settled, done] = await Promise.all([finishOne(tx, job), work(tx)]);
          if (settled === 'again') tx.wake(laneChannel(leased.lane));
          return done;
        });
        finished = true;
        return result;
      } finally {
        setEnding(leased, finished);
      }
    },
    finishBy: async (write) => {
      leased.isEnding = true;
      // A failure need not be reported: the following `finishWith` fails too, or finds that the job has ended.
      if (!finished) finished = (await db.read((tx) => write(tx, endingOne(job))).catch(() => 0)) > 0;
      setEnding(leased, finished);
      return finished;
    },
    fenced: fencedOne(job),
    fence: (tx) => fenceOne(tx, job),
  };

  try {
    checkPayload(declared, job.payload);
    await withinDeadline(
      declared,
      abort,
      runInContext(app, declared, job, () => declared.run(run as JobRun<never>, undefined)),
    );
    return finished ? undefined : { is: 'done' };
  } catch (error) {
    if (finished) {
      log.error({ err: error }, 'a job failed after it had finished; what it wanted to do then is not done');
      return undefined;
    }
    // A handler that stops because its signal was aborted may throw anything; the signal's reason counts.
    const reason = abort.signal.aborted ? abort.signal.reason : error;
    if (error instanceof LeaseLost || reason instanceof LeaseLost) return { is: 'released' };
    const outcome = outcomeOf(reason, declared, job.attempts, randomInt(2 ** 20) / 2 ** 20);
    if (outcome.is === 'dead')
      log.error({ err: error, jobKey: job.key, attempt: job.attempts }, 'a job is dead: it failed for the last time');
    return outcome;
  }
}

/** An ended job needs no lease. Otherwise the job is ours only as long as the renewals succeed. */
function setEnding(leased: LeasedJob, hasEnded: boolean): void {
  leased.isEnding = hasEnded;
  if (hasEnded) leased.validUntil = Number.POSITIVE_INFINITY;
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
