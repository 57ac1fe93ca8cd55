import { randomUUID } from 'node:crypto';
import { isAboutData } from '../../../../kernel/db/index.ts';
import { conflict, Refusal } from '../../../../kernel/errors.ts';
import { batchContext, runFor } from '../../../../kernel/fairness/index.ts';
import type { AcceptedMessage, Intake, SubmitRequest } from '../submission.ts';
import { type BatchOptions, type PendingSubmit, writeBatch } from './batch.ts';
import { prepare } from './prepare.ts';
import { makeRequestQueue } from './request-queue.ts';
import { acceptWholeBatch } from './whole-batch.ts';

export interface IntakeOptions extends Omit<BatchOptions, 'knownSegments' | 'orgsToJudge'> {
  /** Messages of one organization that may wait for the next batch. */
  maxWaitingPerOrg?: number;
}

/**
 * Who was just answered often has more to hand in. If others wait too, their batch waits so long for those: a batch of twice as many costs
 * the database two thirds of what two cost. Only while this process sends: then the processor is what there is too little of, and it signs meanwhile.
 */
const waitForMoreMs = 5;
/** Beyond so many, twice as many save little. */
const largeEnoughBatch = 40;

export type SubmitResult = { messages: AcceptedMessage[]; replayed: boolean };

/**
 * Takes what doors hand in. What arrives while a batch is written is the next batch: whoever comes alone waits for nobody, and the
 * busier it is, the less each message costs. A batch takes organizations in turn.
 *
 * A message is answered for when its bytes were synced and its rows committed. If the process dies before that, nobody was told that it was
 * taken: bytes without rows are a torn end of a segment.
 */
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

/** One that the database cannot take must not take the others along: they are then written in halves, down to it. */
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
