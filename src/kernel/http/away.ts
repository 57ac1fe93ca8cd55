import { DatabaseAway, DatabaseBusy, DatabaseFull, DatabaseSlow } from '../db/index.ts';
import { Refusal } from '../errors.ts';
import { Crowded } from '../shares/index.ts';

/** Whether there was no room or no database: what may be asked again in a moment. */
export const isPassing = (error: unknown): error is DatabaseAway | Crowded => error instanceof DatabaseAway || error instanceof Crowded;

/** What a caller is told when the database did not serve it: nobody's fault, or that of its own organization's other requests. */
export function refuseAway(error: DatabaseAway | Crowded, status: 502 | 503 = 503): Refusal {
  const options = { headers: { 'retry-after': '2' }, cause: error };
  if (error instanceof DatabaseBusy || error instanceof Crowded)
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
