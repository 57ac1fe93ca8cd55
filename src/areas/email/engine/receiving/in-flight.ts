import type { ArrivalRow } from '../../store/receiving/arrivals.ts';
import { makeInFlight } from '../in-flight.ts';

/** What arrived and is under this process's lease. */
export type LeasedArrival = Omit<ArrivalRow, 'received_at' | 'late_ms' | 'place'> & {
  /** Its bytes, if it just came in. */
  raw?: Buffer;
};

/** What arrived and is read by this process. */
export const makeInFlightArrivals = () =>
  makeInFlight<LeasedArrival>({
    maxItems: 512,
    bytes: { maxTotal: 8 * 2 ** 20, maxPerItem: 65_536 },
    orgOf: ({ org_id }) => org_id,
    bytesOf: ({ raw }) => raw,
    withoutBytes: ({ raw: _, ...bare }) => bare,
  });
