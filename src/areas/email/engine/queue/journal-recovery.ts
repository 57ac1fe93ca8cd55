import type { QueueOptions } from './index.ts';
import { type Journal, replayJournals } from './journal.ts';
import { renewIntervalMs } from './lease.ts';
import { settleOutcomes } from './settle.ts';

/**
 * Before a process takes over what another one held, it reads what that one had noted of it: else it would send again what was taken long
 * ago. It looks more often than leases lapse.
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
