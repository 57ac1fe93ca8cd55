import { unavailableError } from '../../status.ts';

/** Holds requests back for seconds while the store cannot answer, instead of failing them. */
export interface RequestGate {
  /** Undefined: a request may go on at once. Rejects when it has waited as long as it may. */
  pass(): Promise<void> | undefined;
  /** Requests wait until this has settled. After `maxMs` they go on anyway; or are refused if `isStrict`, because what they write would be lost. */
  closeUntil(work: Promise<unknown>, options?: { maxMs?: number; isStrict?: boolean }): void;
}

interface Closing {
  /** Settles when requests need not wait any longer: with whether they are refused then. */
  over: Promise<boolean>;
}

const maxWaitMs = 20_000;

export function makeRequestGate(): RequestGate {
  const closings = new Set<Closing>();
  const waitForAll = async () => {
    while (closings.size > 0) {
      const [first] = closings;
      if (await first!.over) throw unavailableError('the datastore of this cluster is being changed; try again in a moment');
      closings.delete(first!);
    }
  };
  return {
    pass: () => (closings.size === 0 ? undefined : waitForAll()),
    closeUntil(work, { maxMs = maxWaitMs, isStrict = false } = {}) {
      const { promise: over, resolve } = Promise.withResolvers<boolean>();
      const closing = { over };
      closings.add(closing);
      const timer = setTimeout(() => {
        resolve(isStrict);
        if (!isStrict) closings.delete(closing);
      }, maxMs);
      const open = () => {
        clearTimeout(timer);
        resolve(false);
        closings.delete(closing);
      };
      work.then(open, open);
    },
  };
}
