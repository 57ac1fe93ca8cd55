import { randomUUID } from 'node:crypto';
import { isAboutData } from '../../../../kernel/db/index.ts';
import { conflict, Refusal } from '../../../../kernel/errors.ts';
import { batchContext, runFor } from '../../../../kernel/fairness/index.ts';
import type { Handed, Intake, Taken } from '../submission.ts';
import { acceptAtOnce } from './at-once.ts';
import { type BatchOptions, type Entry, writeBatch } from './batch.ts';
import { makeLine } from './line.ts';
import { prepare } from './prepare.ts';

export interface IntakeOptions extends Omit<BatchOptions, 'knownSegments' | 'doubted'> {
  /** Messages of one organization that may wait for the next batch. */
  mostWaiting?: number;
}

/**
 * Who was just answered often has more to hand in. If others wait too, their batch waits so long for those: a batch of twice as many costs
 * the database two thirds of what two cost. Only while this process sends: then the processor is what there is too little of, and it signs meanwhile.
 */
const gatherMs = 5;
/** Beyond so many, twice as many save little. */
const worthwhile = 40;

export type Answer = { messages: Taken[]; replayed: boolean };

/**
 * Takes what doors hand in. What arrives while a batch is written is the next batch: whoever comes alone waits for nobody, and the
 * busier it is, the less each message costs. A batch takes organizations in turn.
 *
 * A message is answered for when its bytes were synced and its rows committed. If the process dies before that, nobody was told that it was
 * taken: bytes without rows are a torn end of a segment.
 */
export function makeIntake(options: IntakeOptions): Intake {
  const { app } = options;
  const line = makeLine(options.mostWaiting ?? 2_000);
  const running = new Set<string>();
  const remembered = { knownSegments: new Set<string>(), doubted: new Set<string>() };
  let isWriting = false;

  const write = async () => {
    isWriting = true;
    for (let batch = line.next(); batch.length > 0; batch = line.next()) {
      const orgs = batch.flatMap(({ handed }) => handed.submissions.map(({ org }) => org));
      await runFor(batchContext('email.intake', orgs), () => writeEach({ ...options, ...remembered }, batch), app.watch);
      const both = batch.length + line.size;
      if (line.size > 0 && options.queue().isSending) await line.gather(Math.min(both, worthwhile), gatherMs);
    }
    isWriting = false;
  };

  const wait = (handed: Handed, entry: Omit<Entry, 'done' | 'failed'>) =>
    new Promise<Answer>((done, failed) => {
      line.add(handed.submissions[0]!.org, { ...entry, done, failed });
      if (!isWriting) void write();
    });

  const take = async (handed: Handed): Promise<Answer> => {
    const prepared = [];
    for (const submission of handed.submissions) prepared.push(await prepare(options, submission));
    return wait(handed, { handed, prepared, lease: randomUUID() });
  };

  return {
    async take(handed) {
      const { org } = handed.submissions[0]!;
      line.requireRoom(org, handed.submissions.length);
      if (!handed.idempotency) return take(handed);
      const place = `${org} ${handed.idempotency.key}`;
      if (running.has(place))
        conflict('a message with this Idempotency-Key is being accepted now; wait for its answer', { code: 'idempotency_running' });
      running.add(place);
      return take(handed).finally(() => running.delete(place));
    },
  };
}

/** One that the database cannot take must not take the others along: they are then written in halves, down to it. */
async function writeEach(options: BatchOptions, batch: Entry[]): Promise<void> {
  try {
    if (!(await acceptAtOnce(options, batch))) await writeBatch(options, batch);
  } catch (error) {
    if (batch.length > 1 && isAboutData(error)) {
      const half = Math.ceil(batch.length / 2);
      await writeEach(options, batch.slice(0, half));
      await writeEach(options, batch.slice(half));
      return;
    }
    if (!(error instanceof Refusal)) options.app.log.warn({ err: error, messages: batch.length }, 'messages were not accepted');
    for (const { failed } of batch) failed(error);
  }
}
