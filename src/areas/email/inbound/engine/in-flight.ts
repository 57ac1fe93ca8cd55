import { makeInFlight } from '../../engine/in-flight.ts';
import type { ArrivalRow } from '../store/arrivals.ts';

/** An arrival leased by this process. */
export type LeasedArrival = Omit<ArrivalRow, 'received_at' | 'late_ms' | 'place'> & {
  /** Its bytes, if they are still in memory from intake. */
  raw?: Buffer;
};

/** Arrivals leased by this process, and the memory their bytes use. */
export const makeInFlightArrivals = () =>
  makeInFlight<LeasedArrival>({
    maxItems: 512,
    bytes: { maxTotal: 8 * 2 ** 20, maxPerItem: 65_536 },
    orgOf: ({ org_id }) => org_id,
    bytesOf: ({ raw }) => raw,
    withoutBytes: ({ raw: _, ...bare }) => bare,
  });
