import Type, { type Static } from 'typebox';
import { row, rows, type Tx } from '../../../../kernel/db/index.ts';
import type { Envelope } from '../rules/receiving.ts';

// Inserts received mail in batches: into the log, and into the queue of the readers.

const UsageRow = Type.Object({ org_id: Type.String(), stored: Type.Integer() });

/** Stored bytes of the last 30 days per organization. Today's rows are locked until the transaction ends. */
export const lockReceived = (tx: Tx, orgs: readonly string[]) => rows(tx, UsageRow)`
  with today as materialized (select (kernel.now() at time zone 'UTC')::date as day),
       locked as (
         insert into email.received_usage as u (org_id, day, messages, bytes)
         select org, t.day, 0, 0 from unnest(${[...orgs].sort()}::text[]) org, today t
             on conflict (org_id, day) do update set bytes = u.bytes
         returning org_id, bytes)
  select l.org_id, (l.bytes + coalesce((select sum(u.bytes) from email.received_usage u, today t
                                         where u.org_id = l.org_id and u.day < t.day and u.day >= t.day - 30), 0))::bigint as stored
    from locked l`;

const SenderRow = Type.Object({ org_id: Type.String(), sender: Type.String(), stored: Type.Integer() });

/** The share of these senders. The organizations' rows must be locked. */
export const readSenders = (tx: Tx, orgs: readonly string[], senders: readonly string[]) => rows(tx, SenderRow)`
  select org_id, sender, sum(bytes)::bigint as stored from email.received_sender
   where org_id = any(${orgs}::text[]) and sender = any(${senders}::text[]) and day >= (kernel.now() at time zone 'UTC')::date - 30
   group by org_id, sender`;

/** Stored bytes of one organization, without a lock. */
export const readReceived = async (tx: Tx, org: string): Promise<number> =>
  (await row(tx, UsageRow)`
    select ${org}::text as org_id, coalesce(sum(bytes), 0)::bigint as stored
      from email.received_usage where org_id = ${org} and day >= (kernel.now() at time zone 'UTC')::date - 30`)!.stored;

/** A message for one route, or a report. */
export interface NewArrival {
  org_id: string;
  /** For a message, its id without the time prefix; for a report, the id of the sent message. */
  id: string;
  domain_id: string | null;
  /** Null: a report. */
  route_id: string | null;
  endpoint_id: string | null;
  recipient_id: number | null;
  envelope: Envelope;
  /** Folded addresses for the log search. */
  folded: readonly string[];
  body_key: string;
  body_offset: number;
  body_bytes: number;
  node: string | null;
  /** The client's network address. */
  received_from: string;
  /** A lease of this process, which reads the message at once. Null: any process may claim it. */
  lease: string | null;
}

export interface ArrivalBatch {
  arrivals: readonly NewArrival[];
  leaseSeconds: number;
  counted: {
    /** Bytes per organization, and its storage limit; null: checked before. */
    orgs: readonly { org: string; messages: number; bytes: number; most: number | null }[];
    senders: readonly { org: string; sender: string; bytes: number }[];
  };
  /** Storage limit per sender and organization; null: checked before. */
  mostOfSender: number | null;
  /** The segment with bytes of this batch, if any. */
  segment: string | undefined;
}

const InsertedRow = Type.Object({
  /** False: the segment was sealed meanwhile, so the bytes just appended do not count. */
  is_open: Type.Boolean(),
  /** False: an organization or a sender is over its limit. Unless both are true, no row was written and the transaction must be rolled back. */
  has_room: Type.Boolean(),
  /** Prefix of the new ids: type and time. */
  beginning: Type.String(),
  /** Arrivals inserted with a lease. */
  born: Type.Array(Type.Object({ id: Type.Integer(), lease: Type.String() })),
});

/**
 * Checks limits and inserts a batch in one statement, since separate statements would cost more than their work. Messages appear in the log at once
 * with their envelope; header fields follow when they are read. Parameters are JSON, because PostgreSQL would re-plan for array lengths.
 */
export const insertArrivals = async (tx: Tx, batch: ArrivalBatch): Promise<Static<typeof InsertedRow>> => {
  const { arrivals, leaseSeconds, counted, mostOfSender, segment = '' } = batch;
  return (await row(tx, InsertedRow)`
    with moment as materialized (
           select n.now, (extract(epoch from n.now) * 1000)::bigint as ms, '0123456789ABCDEFGHJKMNPQRSTVWXYZ' as l from (select kernel.now() as now offset 0) n),
         -- The id prefix (idTime), letter by letter: see store/accept.ts.
         clock as materialized (
           select now, (now at time zone 'UTC')::date as day,
                  'msg_' || substr(l, 1 + (ms >> 45 & 31)::int, 1) || substr(l, 1 + (ms >> 40 & 31)::int, 1) || substr(l, 1 + (ms >> 35 & 31)::int, 1) || substr(l, 1 + (ms >> 30 & 31)::int, 1) ||
                       substr(l, 1 + (ms >> 25 & 31)::int, 1) || substr(l, 1 + (ms >> 20 & 31)::int, 1) || substr(l, 1 + (ms >> 15 & 31)::int, 1) || substr(l, 1 + (ms >> 10 & 31)::int, 1) ||
                       substr(l, 1 + (ms >> 5 & 31)::int, 1) || substr(l, 1 + (ms >> 0 & 31)::int, 1) as beginning
             from moment),
         open as (select key from email.segment where key = ${segment} and sealed_at is null for share),
         given as materialized (
           select * from json_to_recordset(${JSON.stringify(counted.orgs)}::json) as c(org text, messages bigint, bytes bigint, most numeric)),
         counted as (
           insert into email.received_usage as u (org_id, day, messages, bytes)
           select c.org, clock.day, c.messages, c.bytes from clock, given c
            order by c.org
               on conflict (org_id, day) do update set messages = u.messages + excluded.messages, bytes = u.bytes + excluded.bytes
           returning org_id, bytes),
         -- After the organization's row, whose lock serializes two batches.
         sent as (
           insert into email.received_sender as s (org_id, sender, day, bytes)
           select x.org, x.sender, clock.day, x.bytes
             from counted c, clock, json_to_recordset(${JSON.stringify(counted.senders)}::json) as x(org text, sender text, bytes bigint)
            where x.org = c.org_id order by x.org, x.sender
               on conflict (org_id, sender, day) do update set bytes = s.bytes + excluded.bytes
           returning org_id, sender, bytes),
         judged as materialized (
           select ${segment} = '' or exists (select from open) as is_open,
                  not exists (select from counted c join given g on g.org = c.org_id, clock
                               where c.bytes + coalesce((select sum(u.bytes) from email.received_usage u
                                                          where u.org_id = c.org_id and u.day < clock.day and u.day >= clock.day - 30), 0) > g.most)
              and not exists (select from sent s, clock
                               where s.bytes + coalesce((select sum(u.bytes) from email.received_sender u
                                                          where u.org_id = s.org_id and u.sender = s.sender and u.day < clock.day and u.day >= clock.day - 30), 0)
                                   > ${mostOfSender}::numeric) as has_room),
         arrived as materialized (
           select a.* from judged, json_to_recordset(${JSON.stringify(arrivals)}::json) as a(
                  org_id text, id text, domain_id text, route_id text, endpoint_id text, recipient_id bigint, envelope jsonb, folded text[], body_key text,
                  body_offset bigint, body_bytes bigint, node text, lease uuid, received_from text)
            where judged.is_open and judged.has_room),
         message as (
           insert into email.message (org_id, id, direction, state, state_at, created_at, door, domain_id, endpoint_id, sender, recipients, copies, message_id,
                                      body_key, body_offset, body_bytes, header_bytes, body_hash, received_from)
           select a.org_id, clock.beginning || a.id, 'receive', 'received', clock.now, clock.now, 'mx', a.domain_id, a.endpoint_id, a.envelope ->> 'mailFrom',
                  array(select jsonb_array_elements_text(a.envelope -> 'rcptTo')), '{}', '', a.body_key, a.body_offset, a.body_bytes, 0, '', a.received_from
             from arrived a, clock where a.route_id is not null),
         address as (
           insert into email.received_address (org_id, folded, message_id)
           select a.org_id, f.folded, clock.beginning || a.id from arrived a, clock, unnest(a.folded) as f(folded) where a.route_id is not null
               on conflict do nothing),
         arrival as (
           insert into email.arrival (org_id, message_id, route_id, endpoint_id, recipient_id, envelope, body_key, body_offset, body_bytes, node, received_at,
                                      run_at, attempts, lease, lease_until)
           select a.org_id, case when a.route_id is null then a.id else clock.beginning || a.id end, a.route_id, a.endpoint_id, a.recipient_id, a.envelope,
                  a.body_key, a.body_offset, a.body_bytes, a.node, clock.now, clock.now, (a.lease is not null)::int, a.lease,
                  case when a.lease is not null then clock.now + make_interval(secs => ${leaseSeconds}) end
             from arrived a, clock
           returning id, lease)
    select judged.is_open, judged.has_room, clock.beginning,
           (select coalesce(json_agg(arrival), '[]') from arrival where lease is not null) as born
      from clock, judged`)!;
};
