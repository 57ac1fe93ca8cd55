import { setTimeout as sleep } from 'node:timers/promises';
import type { App } from '../../../../kernel/app.ts';
import { isAboutData } from '../../../../kernel/db/index.ts';
import { batchContext, runFor } from '../../../../kernel/fairness/index.ts';
import { isSimulated } from '../../rules/simulator.ts';
import { type Fate, settleRecipients } from '../../store/queue.ts';
import { judgePosture } from '../posture.ts';
import { complainLater } from '../simulator.ts';
import { happeningsOf } from '../webhooks/outcomes.ts';
import { tellEndpoints } from '../webhooks/tell.ts';
import type { Fated } from './fate.ts';

/** What is gathered for this long costs the database half of what each by itself would, and a third less than what is gathered for 40 ms. */
const gatherMs = 100;
const mostAtOnce = 500;
const restMs = 1_000;

export interface Settler {
  add(fated: Fated): void;
  /** Settles what it has, as long as the database takes it. */
  stop(): Promise<void>;
}

/** Writes outcomes down in batches, one at a time. While the database is away they wait here, and in the journal. */
export function makeSettler(app: App, settled: (fated: Fated, isLost: boolean) => void): Settler {
  let waiting: Fated[] = [];
  let running: Promise<void> | undefined;
  let stopping = false;

  const run = async () => {
    while (waiting.length > 0) {
      if (!stopping) await sleep(gatherMs);
      const batch = waiting.splice(0, mostAtOnce);
      const fates = batch.map(({ fate }) => fate);
      const orgs = batch.map(({ item }) => item.org);
      try {
        const rows = await runFor(batchContext('email.settle', orgs), () => settleFates(app, fates), app.watch);
        const done = new Set(rows.map(({ id }) => id));
        for (const fated of batch) settled(fated, !done.has(fated.item.id));
      } catch (error) {
        waiting = [...batch, ...waiting];
        app.log.warn({ err: error, outcomes: waiting.length }, 'what became of mail is not written down yet; trying again');
        if (stopping) break;
        await sleep(restMs);
      }
    }
    running = undefined;
  };
  const start = () => {
    running ??= run();
  };
  return {
    add(fated) {
      waiting.push(fated);
      start();
    },
    async stop() {
      stopping = true;
      if (waiting.length > 0) start();
      await running;
    },
  };
}

/** One that the database cannot take must not keep the others from being written; what it says besides its fate is given up. */
export async function settleFates(app: App, fates: Fate[]): ReturnType<typeof settleRecipients> {
  try {
    return await settleAndTell(app, fates);
  } catch (error) {
    const [only] = fates;
    if (!isAboutData(error) || only === undefined) throw error;
    if (fates.length > 1) {
      const half = Math.ceil(fates.length / 2);
      return [...(await settleFates(app, fates.slice(0, half))), ...(await settleFates(app, fates.slice(half)))];
    }
    app.log.warn({ err: error, message: only.message_id }, 'what the other side said cannot be kept in the log');
    const bare = { ...only, error: only.error && 'what the other side said cannot be shown', detail: null };
    return settleAndTell(app, [bare]);
  }
}

/** What endpoints hear of it is written in the same transaction. */
const settleAndTell = (app: App, fates: Fate[]) =>
  app.db.write(async (tx) => {
    const settled = await settleRecipients(tx, fates);
    await tellEndpoints(tx, happeningsOf(settled, fates));
    const refused = settled.filter(
      ({ fate, bounce_type, address }) => fate === 'bounced' && bounce_type === 'hard' && !isSimulated(address),
    );
    await judgePosture(
      tx,
      refused.map(({ org_id }) => org_id),
    );
    await complainLater(
      tx,
      settled.filter(({ fate }) => fate === 'delivered'),
    );
    return settled;
  });
