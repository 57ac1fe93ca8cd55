/**
 * Intake of outgoing mail: from a checked submission to a synced, committed message.
 *
 * Actors: the HTTP API and SMTP submission call `accept`; one writer loop per process writes batches; the queue sends.
 *
 * Flow: `accept` → `requireCapacity` (503 when an organization has too many messages waiting) → `prepare` (count and hash the bytes; a
 * large message becomes an object in storage) → `RequestQueue` → one batch at a time: the fast path (`whole-batch.ts`, one statement) or, when
 * something may be refused, `batch.ts` (judge each request, then write) → the queue starts the leased recipients → the callers are answered.
 * Requests that arrive while a batch is written form the next batch, so the cost per message falls under load. Organizations take turns.
 *
 * A request ends accepted, replayed (its Idempotency-Key was used before with the same content) or refused: key revoked, sending paused, domain not
 * verified, daily quota used up. All messages of a request share the verdict.
 *
 * Crash: a caller is answered only after its bytes are synced and its rows are committed. A crash before that leaves bytes without rows, which
 * are never read, or an object without a row, which the orphan sweep removes. A crash after it loses nothing: rows and segments
 * survive, and leased recipients are claimed by another process once the lease lapses.
 */

import { randomUUID } from 'node:crypto';
import { isAboutData } from '../../../../../kernel/db/index.ts';
import { conflict, Refusal } from '../../../../../kernel/errors.ts';
import { batchContext, runFor } from '../../../../../kernel/fairness/index.ts';
import type { Intake, SubmitRequest } from '../submission.ts';
import { type BatchOptions, writeBatch } from './batch.ts';
import { prepare } from './prepare.ts';
import { makeRequestQueue } from './request-queue.ts';
import type { PendingSubmit, SubmitResult } from './types.ts';
import { acceptWholeBatch } from './whole-batch.ts';

export interface IntakeOptions extends Omit<BatchOptions, 'knownSegments' | 'orgsToJudge'> {
  /** Messages of one organization that may wait for a batch. */
  maxWaitingPerOrg?: number;
}

/**
 * A client that was just answered often submits again at once. If other requests wait, the next batch waits this long for such clients: one batch
 * of double size costs the database two thirds of two batches. Only while this process sends: CPU is scarce then, and signing uses the pause.
 */
const waitForMoreMs = 5;
/** Waiting for more requests than this saves little. */
const largeEnoughBatch = 40;

export function makeIntake(options: IntakeOptions): Intake {
  const { app } = options;
  const waiting = makeRequestQueue(options.maxWaitingPerOrg ?? 2_000);
  const runningKeys = new Set<string>();
  const memory = { knownSegments: new Set<string>(), orgsToJudge: new Set<string>() };
  let isWriting = false;

  const write = async () => {
    isWriting = true;
    for (let batch = waiting.nextBatch(); batch.length > 0; batch = waiting.nextBatch()) {
      const orgs = batch.flatMap(({ request }) => request.submissions.map(({ org }) => org));
      await runFor(batchContext('email.intake', orgs), () => writeOrSplit({ ...options, ...memory }, batch), app.watch);
      const expected = batch.length + waiting.size;
      if (waiting.size > 0 && options.queue().isSending) await waiting.waitForSize(Math.min(expected, largeEnoughBatch), waitForMoreMs);
    }
    isWriting = false;
  };

  const wait = (request: SubmitRequest, entry: Omit<PendingSubmit, 'resolve' | 'reject'>) =>
    new Promise<SubmitResult>((resolve, reject) => {
      waiting.add(request.submissions[0]!.org, { ...entry, resolve, reject });
      if (!isWriting) void write();
    });

  const prepareAndWait = async (request: SubmitRequest): Promise<SubmitResult> => {
    const prepared = [];
    for (const submission of request.submissions) prepared.push(await prepare(options, submission));
    return wait(request, { request, prepared, lease: randomUUID() });
  };

  return {
    async accept(request) {
      const { org } = request.submissions[0]!;
      waiting.requireCapacity(org, request.submissions.length);
      if (!request.idempotency) return prepareAndWait(request);
      const scopedKey = `${org} ${request.idempotency.key}`;
      if (runningKeys.has(scopedKey))
        conflict('a message with this Idempotency-Key is being accepted now; wait for its answer', { code: 'idempotency_running' });
      runningKeys.add(scopedKey);
      return prepareAndWait(request).finally(() => runningKeys.delete(scopedKey));
    },
  };
}

/** When the database refuses a value, the batch is written in halves until the bad request stands alone. */
async function writeOrSplit(options: BatchOptions, batch: PendingSubmit[]): Promise<void> {
  try {
    if (!(await acceptWholeBatch(options, batch))) await writeBatch(options, batch);
  } catch (error) {
    if (batch.length > 1 && isAboutData(error)) {
      const half = Math.ceil(batch.length / 2);
      await writeOrSplit(options, batch.slice(0, half));
      await writeOrSplit(options, batch.slice(half));
      return;
    }
    if (!(error instanceof Refusal)) options.app.log.warn({ err: error, messages: batch.length }, 'messages were not accepted');
    for (const { reject } of batch) reject(error);
  }
}
