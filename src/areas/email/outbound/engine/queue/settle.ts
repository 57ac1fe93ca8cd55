import { setTimeout as sleep } from 'node:timers/promises';
import type { App } from '../../../../../kernel/app.ts';
import { isAboutData } from '../../../../../kernel/db/index.ts';
import { batchContext, runFor } from '../../../../../kernel/fairness/index.ts';
import { emitEvents } from '../../../webhooks/engine/emit-events.ts';
import { isSimulated } from '../../rules/simulator.ts';
import { type RecipientOutcome, settleRecipients } from '../../store/queue.ts';
import { outcomeEventsOf } from '../outcome-events.ts';
import { pauseIfOverLimits } from '../sending-pause.ts';
import { enqueueComplaints } from '../simulator.ts';
import type { PendingOutcome } from './outcome.ts';

/** Batches of 100 ms cost the database half of single outcomes, and a third less than batches of 40 ms. */
const batchDelayMs = 100;
const maxBatchSize = 500;
const retryDelayMs = 1_000;

export interface Settler {
  add(outcome: PendingOutcome): void;
  /** Settles the remaining outcomes; gives up at the first database error, since the journal has the final ones. */
  stop(): Promise<void>;
}

/** Writes outcomes in batches, one batch at a time. While the database is away, outcomes wait in memory, and final ones also in the journal. */
export function makeSettler(app: App, settled: (outcome: PendingOutcome, isLost: boolean) => void): Settler {
  let waiting: PendingOutcome[] = [];
  let running: Promise<void> | undefined;
  let stopping = false;

  const run = async () => {
    while (waiting.length > 0) {
      if (!stopping) await sleep(batchDelayMs);
      const batch = waiting.splice(0, maxBatchSize);
      const outcomeRows = batch.map(({ row: fate }) => fate);
      const orgs = batch.map(({ item }) => item.org);
      try {
        const rows = await runFor(batchContext('email.settle', orgs), () => settleOutcomes(app, outcomeRows), app.watch);
        const done = new Set(rows.map(({ id }) => id));
        for (const outcome of batch) settled(outcome, !done.has(outcome.item.id));
      } catch (error) {
        waiting = [...batch, ...waiting];
        app.log.warn({ err: error, outcomes: waiting.length }, 'outcomes of mail are not in the database yet; retrying');
        if (stopping) break;
        await sleep(retryDelayMs);
      }
    }
    running = undefined;
  };
  const start = () => {
    running ??= run();
  };
  return {
    add(outcome) {
      waiting.push(outcome);
      start();
    },
    async stop() {
      stopping = true;
      if (waiting.length > 0) start();
      await running;
    },
  };
}

/** Splits a batch in halves when the database refuses a value. The refused outcome alone is then written without the remote server's words. */
export async function settleOutcomes(app: App, outcomeRows: RecipientOutcome[]): ReturnType<typeof settleRecipients> {
  try {
    return await settleAndEmit(app, outcomeRows);
  } catch (error) {
    const [only] = outcomeRows;
    if (!isAboutData(error) || only === undefined) throw error;
    if (outcomeRows.length > 1) {
      const half = Math.ceil(outcomeRows.length / 2);
      return [...(await settleOutcomes(app, outcomeRows.slice(0, half))), ...(await settleOutcomes(app, outcomeRows.slice(half)))];
    }
    app.log.warn({ err: error, message: only.message_id }, 'the reply of the remote server cannot be stored in the log');
    const bare = { ...only, error: only.error && 'what the other side said cannot be shown', detail: null };
    return settleAndEmit(app, [bare]);
  }
}

/** Webhook events, the automatic pause and simulated complaints are part of the same transaction. */
const settleAndEmit = (app: App, outcomeRows: RecipientOutcome[]) =>
  app.db.write(async (tx) => {
    const settled = await settleRecipients(tx, outcomeRows);
    await emitEvents(tx, outcomeEventsOf(settled, outcomeRows));
    const refused = settled.filter(
      ({ fate, bounce_type, address }) => fate === 'bounced' && bounce_type === 'hard' && !isSimulated(address),
    );
    await pauseIfOverLimits(
      tx,
      refused.map(({ org_id }) => org_id),
    );
    await enqueueComplaints(
      tx,
      settled.filter(({ fate }) => fate === 'delivered'),
    );
    return settled;
  });
