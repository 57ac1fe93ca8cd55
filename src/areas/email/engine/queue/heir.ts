import type { QueueOptions } from './index.ts';
import { type Journal, replayJournals } from './journal.ts';
import { renewEveryMs } from './lease.ts';
import { settleFates } from './settle.ts';

/**
 * Before a process takes over what another one held, it reads what that one had noted of it: else it would send again what was taken long
 * ago. It looks more often than leases lapse.
 */
export function makeHeir({ app, folder }: QueueOptions, journal: Journal) {
  let readAt = Number.NEGATIVE_INFINITY;
  const now = async () => {
    const begun = performance.now();
    await replayJournals(folder, (fates) => settleFates(app, fates), journal.isOurs);
    readAt = begun;
  };
  return {
    now,
    beforeClaim: async () => {
      if (performance.now() - readAt >= renewEveryMs) await now();
    },
    clockMoved() {
      readAt = Number.NEGATIVE_INFINITY;
    },
  };
}
