import { type Journal, replayJournals } from './journal.ts';
import { renewIntervalMs } from './lease.ts';
import { settleOutcomes } from './settle.ts';
import type { QueueOptions } from './types.ts';

/**
 * Replays the journals of other processes before a claim. A claim may take over recipients of a killed process, whose journal knows which of
 * them were delivered already. The replay interval is shorter than a lease, so no recipient is claimed between lapse and replay.
 */
export function makeJournalRecovery({ app, folder }: QueueOptions, journal: Journal) {
  let readAt = Number.NEGATIVE_INFINITY;
  const recover = async () => {
    const begun = performance.now();
    await replayJournals(folder, (fates) => settleOutcomes(app, fates), journal.isOwnFile);
    readAt = begun;
  };
  return {
    recover,
    recoverIfDue: async () => {
      if (performance.now() - readAt >= renewIntervalMs) await recover();
    },
    forceNextRecovery() {
      readAt = Number.NEGATIVE_INFINITY;
    },
  };
}

export type JournalRecovery = ReturnType<typeof makeJournalRecovery>;
