import type { Tx } from '../../../kernel/db/index.ts';
import { makePartitions } from '../store/partitions.ts';

/** Caches which days have partitions, so that a batch does not query for them. */
export interface Partitions {
  /** Makes the partitions that these times need: the task that makes them ahead may not have run since the clock moved. */
  ensure(tx: Tx, times: readonly number[]): Promise<void>;
  forget(): void;
}

const dayMs = 86_400_000;

export function makePartitionCache(): Partitions {
  const known = new Set<number>();
  return {
    ensure: async (tx, times) => {
      const days = [...new Set(times.map((at) => Math.floor(at / dayMs)))].filter((day) => !known.has(day));
      if (!days.length) return;
      for (const day of days) await makePartitions(tx, new Date(day * dayMs).toISOString(), new Date(day * dayMs).toISOString());
      tx.afterCommit(() => {
        for (const day of days) known.add(day);
      });
    },
    forget: () => known.clear(),
  };
}
