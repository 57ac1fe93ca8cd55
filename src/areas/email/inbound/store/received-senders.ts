import Type, { type Static } from 'typebox';
import { row, rows, type Tx } from '../../../../kernel/db/index.ts';

// Storage used by each sender of received mail, and how it is freed.

const SenderRow = Type.Object({ sender: Type.String(), bytes: Type.Integer() });

/** The senders with the most bytes of the last 30 days. */
export const listSenders = (tx: Tx, org: string, limit: number): Promise<Static<typeof SenderRow>[]> => rows(tx, SenderRow)`
  select sender, sum(bytes)::bigint as bytes from email.received_sender
   where org_id = ${org} and day >= (kernel.now() at time zone 'UTC')::date - 30
   group by sender having sum(bytes) > 0 order by 2 desc, 1 limit ${limit}`;

const FreedRow = Type.Object({ messages: Type.Integer(), bytes: Type.Integer() });

/**
 * Drops the content of finished messages of one sender and subtracts it from the usage. Objects of large messages lose their row and are swept; other
 * content goes with its segment. The messages stay in the log. `overhead`: bytes that each message counted in addition to its size.
 */
export const freeReceived = async (
  tx: Tx,
  { org, sender, limit, overhead }: { org: string; sender: string; limit: number; overhead: number },
): Promise<Static<typeof FreedRow>> =>
  (await row(tx, FreedRow)`
    with chosen as (
           select id from email.message
            where org_id = ${org} and direction = 'receive' and received_from = ${sender} and body_key is not null
              and state in ('delivered', 'failed') and created_at > kernel.now() - interval '31 days'
            limit ${limit} for update),
         freed as (
           update email.message m set body_key = null from chosen where m.id = chosen.id
           returning (m.created_at at time zone 'UTC')::date as day, m.body_bytes + ${overhead}::int as bytes),
         days as (select day, count(*) as messages, sum(bytes)::bigint as bytes from freed group by day),
         usage as (
           update email.received_usage u set bytes = greatest(0, u.bytes - d.bytes) from days d where u.org_id = ${org} and u.day = d.day),
         sent as (
           update email.received_sender s set bytes = greatest(0, s.bytes - d.bytes) from days d
            where s.org_id = ${org} and s.sender = ${sender} and s.day = d.day)
    select coalesce(sum(messages), 0)::bigint as messages, coalesce(sum(bytes), 0)::bigint as bytes from days`)!;
