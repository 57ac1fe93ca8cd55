import { DatabaseBusy, DatabaseFull, DatabaseSlow, DatabaseUnavailable } from '../db/index.ts';
import { Refusal } from '../errors.ts';
import { TenantThrottled } from '../fairness/index.ts';

/** Whether the database or its capacity was unavailable: the caller may retry in a moment. */
export const isTemporary = (error: unknown): error is DatabaseUnavailable | TenantThrottled =>
  error instanceof DatabaseUnavailable || error instanceof TenantThrottled;

/** The refusal when the database did not serve the request: an outage, or the organization's own load. */
export function refuseTemporarily(error: DatabaseUnavailable | TenantThrottled, status: 502 | 503 = 503): Refusal {
  const options = { headers: { 'retry-after': '2' }, cause: error };
  if (error instanceof DatabaseBusy || error instanceof TenantThrottled)
    return new Refusal(503, 'unavailable', 'your organization has more requests under way than its share; try again in a moment', {
      ...options,
      isTold: true,
    });
  if (error instanceof DatabaseSlow) {
    const sentence = error.isLocked
      ? 'somebody else is changing the same thing at this moment; try again in a moment'
      : 'the database took too long for this; try again in a moment, or ask for less at once';
    return new Refusal(503, 'unavailable', sentence, { ...options, isTold: true });
  }
  if (error instanceof DatabaseFull)
    return new Refusal(
      503,
      'unavailable',
      'the disk of the database is full; the operator has to free some space, then send this again',
      options,
    );
  const sentence = status === 502 ? 'the backend is unreachable; try again in a moment' : 'the database is away; try again in a moment';
  return new Refusal(status, 'unavailable', sentence, options);
}
