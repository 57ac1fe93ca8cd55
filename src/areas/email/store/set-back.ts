import { run, type Tx } from '../../../kernel/db/index.ts';
import { sql } from '../../../kernel/sql.ts';

// A clock that was set back leaves leases and times that lie far in its future: mail would wait until the old time comes again.

/** Longer than any lease here; one that ends later was made by another clock. */
const longestLease = sql`interval '11 minutes'`;
const lease = sql`interval '60 seconds'`;
/** Longer than the longest wait between two tries. */
const longestWait = sql`interval '6 hours'`;
/** Of what is due at once. */
const aMoment = sql`interval '5 minutes'`;

/** Such leases become ordinary ones, which a server that still lives renews in time; such mail is due now, but for what its sender has scheduled. */
export async function mendTimes(tx: Tx): Promise<void> {
  const now = sql`(select kernel.now())`;
  await run(
    tx,
  )`update email.recipient set lease_until = ${now} + ${lease} where done_at is null and lease_until > ${now} + ${longestLease}`;
  await run(tx)`update email.arrival set lease_until = ${now} + ${lease} where lease_until > ${now} + ${longestLease}`;
  await run(tx)`
    update email.recipient r set run_at = ${now}
     where r.done_at is null and r.run_at > ${now} + case when r.state = 'queued' then ${aMoment} else ${longestWait} end
       and not exists (select from email.message m where m.id = r.message_id and m.scheduled_at >= r.run_at)`;
  await run(tx)`update email.arrival set run_at = ${now} where run_at > ${now} + ${aMoment}`;
}
