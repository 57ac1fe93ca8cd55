import type { ArrivalRow } from '../../store/receiving/arrivals.ts';
import { keepHoldings } from '../holdings.ts';

/** What arrived and is under this process's lease. */
export type HeldArrival = Omit<ArrivalRow, 'received_at' | 'late_ms' | 'place'> & {
  /** Its bytes, if it just came in. */
  raw?: Buffer;
};

/** What arrived and is read by this process. */
export const makeHoldings = () =>
  keepHoldings<HeldArrival>({
    most: 512,
    bytes: { most: 8 * 2 ** 20, each: 65_536 },
    orgOf: ({ org_id }) => org_id,
    bytesOf: ({ raw }) => raw,
    withoutBytes: ({ raw: _, ...bare }) => bare,
  });
