import { type DatabaseAway, DatabaseBusy } from '../db/index.ts';
import { Refusal } from '../errors.ts';

/** What a caller is told when the database did not serve it: nobody's fault, or that of its own organization's other requests. */
export function refuseAway(error: DatabaseAway, status: 502 | 503 = 503): Refusal {
  const options = { headers: { 'retry-after': '2' }, cause: error };
  if (error instanceof DatabaseBusy)
    return new Refusal(503, 'unavailable', 'your organization has more requests under way than its share; try again in a moment', {
      ...options,
      isTold: true,
    });
  const sentence = status === 502 ? 'the backend is unreachable; try again in a moment' : 'the database is away; try again in a moment';
  return new Refusal(status, 'unavailable', sentence, options);
}
