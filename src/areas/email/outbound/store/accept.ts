import Type, { type Static } from 'typebox';
import { row, type Tx } from '../../../../kernel/db/index.ts';
import type { BatchQuery, NewMessage, NewRecipient } from './intake.ts';

/** A batch that is checked and inserted in one statement. Ids come without their time prefix. */
export interface WholeBatch extends BatchQuery {
  /** Recipient counts in the order of `orgs`. */
  counts: readonly number[];
  /** Distinct send keys, and their rights locks (`sharedLocks`). */
  keys: readonly string[];
  locks: readonly string[];
  /** For organizations without a quota of their own. */
  dailyQuota: number;
  messages: readonly NewMessage[];
  recipients: readonly NewRecipient[];
  leaseSeconds: number;
  /** The segment with bytes of this batch, if any. */
  segment: string | undefined;
}

const AcceptedRow = Type.Object({
  /** False: a message cannot be accepted, and the transaction must be rolled back. */
  is_accepted: Type.Boolean(),
  now: Type.String(),
  /** Prefix of the new ids: type and time. */
  beginning: Type.String(),
  recipients: Type.Array(Type.Object({ id: Type.Integer(), message_id: Type.String(), address: Type.String() })),
});
export type AcceptedRow = Static<typeof AcceptedRow>;

/**
 * Combines the query and the insert of receiving/intake.ts in one statement, if the whole batch can be accepted: every key is valid and not being revoked, no
 * organization is paused or over its quota, no recipient is suppressed, every domain is verified, and the segment is open. Usage rows stay locked
 * until the transaction ends, and domains cannot be deleted meanwhile.
 */
export const acceptBatch = async (tx: Tx, batch: WholeBatch): Promise<AcceptedRow> => {
  const { orgs, counts, keys, locks, dailyQuota, domains, addresses, messages, recipients, leaseSeconds, segment = '' } = batch;
  return (await row(tx, AcceptedRow)`
    with moment as materialized (
           select n.now, (extract(epoch from n.now) * 1000)::bigint as ms, '0123456789ABCDEFGHJKMNPQRSTVWXYZ' as l from (select kernel.now() as now offset 0) n),
         -- The id prefix (idTime), letter by letter: aggregating rows would take ten times as long.
         clock as materialized (
           select now, 'msg_' || substr(l, 1 + (ms >> 45 & 31)::int, 1) || substr(l, 1 + (ms >> 40 & 31)::int, 1) || substr(l, 1 + (ms >> 35 & 31)::int, 1) || substr(l, 1 + (ms >> 30 & 31)::int, 1) ||
                       substr(l, 1 + (ms >> 25 & 31)::int, 1) || substr(l, 1 + (ms >> 20 & 31)::int, 1) || substr(l, 1 + (ms >> 15 & 31)::int, 1) || substr(l, 1 + (ms >> 10 & 31)::int, 1) ||
                       substr(l, 1 + (ms >> 5 & 31)::int, 1) || substr(l, 1 + (ms >> 0 & 31)::int, 1) as beginning
             from moment),
         open as (select key from email.segment where key = ${segment} and sealed_at is null for share),
         sending as (select id from email.domain where id = any(${domains}::text[]) and send_state = 'verified' order by id for key share),
         fit as materialized (
           select email.share_live_keys(${locks}::bigint[], ${keys}::text[], ${orgs}::text[])
              and (${segment} = '' or exists (select from open))
              and (select count(*) from sending) = ${domains.length}::int
              and not exists (select from email.posture where org_id = any(${orgs}::text[]) and paused_at is not null)
              and not exists (select from email.suppression s
                                join unnest(${addresses.map((a) => a.org)}::text[], ${addresses.map((a) => a.folded)}::text[]) as a(org, folded)
                                  on s.org_id = a.org and s.address = a.folded) as is_so),
         counted as (
           insert into email.usage as u (org_id, day, accepted)
           select a.org, (clock.now at time zone 'UTC')::date, a.n from clock, fit, unnest(${orgs}::text[], ${counts}::int[]) as a(org, n)
            where fit.is_so order by a.org
               on conflict (org_id, day) do update set accepted = u.accepted + excluded.accepted
           returning org_id, accepted),
         accepted as materialized (
           select (select count(*) from counted) = ${orgs.length}::int
              and not exists (select from counted c left join email.posture p on p.org_id = c.org_id
                               where c.accepted > coalesce(p.daily_quota, ${dailyQuota}::int)) as is_so),
         message as (
           insert into email.message (org_id, id, direction, state, state_at, created_at, scheduled_at, door, domain_id, send_key_id, sender, recipients,
                                      copies, subject, message_id, tags, body_key, body_offset, body_bytes, header_bytes, body_hash)
           select m.org_id, clock.beginning || m.id, 'send', m.state, clock.now, clock.now, m.scheduled_at, m.door, m.domain_id, m.send_key_id, m.sender,
                  m.recipients, m.copies, m.subject, m.message_id, m.tags, m.body_key, m.body_offset, m.body_bytes, m.header_bytes, decode(m.body_hash, 'hex')
             from clock, accepted, json_to_recordset(${JSON.stringify(messages)}::json) as m(
                  org_id text, id text, state text, scheduled_at timestamptz, door text, domain_id text, send_key_id text, sender text, recipients text[],
                  copies text[], subject text, message_id text, tags jsonb, body_key text, body_offset bigint, body_bytes bigint, header_bytes int, body_hash text)
            where accepted.is_so),
         recipient as (
           insert into email.recipient (org_id, message_id, address, folded, state, state_at, node, run_at, attempts, lease, lease_until)
           select r.org_id, clock.beginning || r.message_id, r.address, r.folded, r.state, clock.now, r.node, coalesce(r.run_at, clock.now),
                  case when r.lease is null then 0 else 1 end, r.lease,
                  case when r.lease is not null then clock.now + make_interval(secs => ${leaseSeconds}) end
             from clock, accepted, json_to_recordset(${JSON.stringify(recipients)}::json) as r(
                  org_id text, message_id text, address text, folded text, state text, node text, run_at timestamptz, lease uuid)
            where accepted.is_so
           returning id, message_id, address)
    select accepted.is_so as is_accepted, clock.now, clock.beginning,
           (select coalesce(json_agg(recipient), '[]') from recipient) as recipients
      from clock, accepted`)!;
};
