import Type, { type Static } from 'typebox';
import { rows, run, type Tx } from '../../../kernel/db/index.ts';
import { sql } from '../../../kernel/sql.ts';

/** How a mail about an event ended. */
export type MailFate = 'sent' | 'failed' | 'dropped';

/** Counts mails in the transaction that queues them. */
export const countQueued = (tx: Tx, org: string, eventId: string, mails: number) => run(tx)`
  insert into status.mailing as m (org_id, event_id, first_at, last_at, queued)
  select ${org}, ${eventId}, c.now, c.now, ${mails}::int from (select kernel.now() as now offset 0) c
  on conflict (org_id, event_id) do update set queued = m.queued + excluded.queued, last_at = excluded.last_at`;

const columnOf = { sent: sql`sent`, failed: sql`failed`, dropped: sql`dropped` };

/** Counts a mail in the transaction that ends its job. Mails that the release before queued are counted here alone. */
export const countEnded = (tx: Tx, org: string, eventId: string, fate: MailFate) => run(tx)`
  insert into status.mailing as m (org_id, event_id, first_at, last_at, ${columnOf[fate]})
  select ${org}, ${eventId}, c.now, c.now, 1 from (select kernel.now() as now offset 0) c
  on conflict (org_id, event_id) do update set ${columnOf[fate]} = m.${columnOf[fate]} + 1, last_at = excluded.last_at`;

const MailingRow = Type.Object({
  event_id: Type.String(),
  first_at: Type.String(),
  last_at: Type.String(),
  queued: Type.Integer(),
  sent: Type.Integer(),
  failed: Type.Integer(),
  dropped: Type.Integer(),
});
export type MailingRow = Static<typeof MailingRow>;

export const mailingsOf = (tx: Tx, org: string, eventIds: readonly string[]) => rows(tx, MailingRow)`
  select event_id, first_at, last_at, queued, sent, failed, dropped from status.mailing
   where org_id = ${org} and event_id = any(${eventIds}::text[]) order by first_at, event_id`;

export const deleteOldMailings = (tx: Tx, days: number) =>
  run(tx)`delete from status.mailing where first_at < kernel.now() - make_interval(days => ${days}::int)`;
