import Type, { type Static } from 'typebox';
import { row, rows, run, type Tx } from '../../../../kernel/db/index.ts';

// Queries and inserts of a submission batch.

const AccountRow = Type.Object({
  org_id: Type.String(),
  accepted: Type.Integer(),
  daily_quota: Type.Union([Type.Integer(), Type.Null()]),
  is_paused: Type.Boolean(),
  pause_reason: Type.Union([Type.String(), Type.Null()]),
});

const FoundRow = Type.Object({
  now: Type.String(),
  midnight_in: Type.Integer(),
  /** Today's usage, locked until the transaction ends, with quota and pause. */
  accounts: Type.Array(AccountRow),
  /** Suppressed addresses of the batch. */
  suppressed: Type.Array(Type.Object({ org_id: Type.String(), address: Type.String() })),
  /** Verified domains of the batch, locked against deletion. */
  domains: Type.Array(Type.String()),
});

export interface BatchQuery {
  orgs: readonly string[];
  domains: readonly string[];
  addresses: readonly { org: string; folded: string }[];
}

/** Reads the state that decides about a batch, in one statement, since several would cost more than their work. */
export const readBatchState = async (tx: Tx, { orgs, domains, addresses }: BatchQuery): Promise<Static<typeof FoundRow>> =>
  (await row(tx, FoundRow)`
    with clock as materialized (select kernel.now() as now),
         locked as (
           insert into email.usage as u (org_id, day, accepted)
           select org, (clock.now at time zone 'UTC')::date, 0 from clock, unnest(${[...orgs].sort()}::text[]) org
               on conflict (org_id, day) do update set accepted = u.accepted
           returning org_id, accepted),
         account as (
           select l.org_id, l.accepted, p.daily_quota, p.paused_at is not null as is_paused, p.pause_reason
             from locked l left join email.posture p on p.org_id = l.org_id),
         suppressed as (
           select s.org_id, s.address from email.suppression s
             join unnest(${addresses.map((a) => a.org)}::text[], ${addresses.map((a) => a.folded)}::text[]) as a(org, folded)
               on s.org_id = a.org and s.address = a.folded),
         sending as (
           select id from email.domain where id = any(${[...domains].sort()}::text[]) and send_state = 'verified' order by id for key share)
    select clock.now,
           ceil(extract(epoch from date_trunc('day', clock.now at time zone 'UTC') + interval '1 day' - (clock.now at time zone 'UTC')))::int as midnight_in,
           (select coalesce(json_agg(account), '[]') from account) as accounts,
           (select coalesce(json_agg(suppressed), '[]') from suppressed) as suppressed,
           (select coalesce(json_agg(id), '[]') from sending) as domains
      from clock`)!;

const KeyRow = Type.Object({ org_id: Type.String(), key: Type.String() });

/** Claims idempotency keys that were not used in the last 24 h, and returns them. */
export const claimKeys = (tx: Tx, keys: readonly { org: string; key: string; fingerprint: Buffer }[]) => rows(tx, KeyRow)`
  insert into email.submission as s (org_id, key, fingerprint, message_ids, created_at)
  select k.org, k.key, k.fingerprint, '{}', kernel.now()
    from unnest(${keys.map((k) => k.org)}::text[], ${keys.map((k) => k.key)}::text[], ${keys.map((k) => k.fingerprint)}::bytea[]) as k(org, key, fingerprint)
   order by 1, 2
      on conflict (org_id, key) do update
         set fingerprint = excluded.fingerprint, message_ids = '{}', created_at = excluded.created_at
       where s.created_at < excluded.created_at - interval '24 hours'
  returning s.org_id, s.key`;

const SubmissionRow = Type.Object({
  org_id: Type.String(),
  key: Type.String(),
  fingerprint: Type.Unsafe<Buffer>({}),
  message_ids: Type.Array(Type.String()),
  header_ids: Type.Array(Type.String()),
});
export type SubmissionRow = Static<typeof SubmissionRow>;

/** Earlier submissions with these idempotency keys. */
export const findSubmissions = (tx: Tx, keys: readonly { org: string; key: string }[]): Promise<SubmissionRow[]> => rows(tx, SubmissionRow)`
  select s.org_id, s.key, s.fingerprint, s.message_ids,
         array(select coalesce(m.message_id, '') from unnest(s.message_ids) with ordinality i(id, n) left join email.message m on m.id = i.id order by i.n) as header_ids
    from email.submission s
    join unnest(${keys.map((k) => k.org)}::text[], ${keys.map((k) => k.key)}::text[]) as k(org, key) on s.org_id = k.org and s.key = k.key`;

export interface NewMessage {
  org_id: string;
  id: string;
  state: string;
  scheduled_at: string | null;
  door: string;
  domain_id: string;
  send_key_id: string | null;
  sender: string;
  recipients: readonly string[];
  copies: readonly string[];
  subject: string | null;
  message_id: string;
  tags: Record<string, string> | null;
  body_key: string;
  body_offset: number;
  body_bytes: number;
  header_bytes: number;
  /** In hex. */
  body_hash: string;
}

export interface NewRecipient {
  org_id: string;
  message_id: string;
  address: string;
  folded: string;
  state: 'queued' | 'sending' | 'suppressed';
  node: string | null;
  /** Null: at once. */
  run_at: string | null;
  lease: string | null;
}

const InsertedRecipientRow = Type.Object({
  id: Type.Integer(),
  message_id: Type.String(),
  address: Type.String(),
  is_open: Type.Boolean(),
});

export interface NewBatch {
  messages: readonly NewMessage[];
  recipients: readonly NewRecipient[];
  leaseSeconds: number;
  /** The segment with bytes of this batch, if any. */
  segment: string | undefined;
}

/** Recipients that are on a suppression list already, by domain: nothing of them is ever sent. */
function countSuppressed(messages: readonly NewMessage[], recipients: readonly NewRecipient[]) {
  const domainOf = new Map(messages.map((message) => [message.id, message.domain_id]));
  const counts = new Map<string, { org: string; domain: string; count: number }>();
  for (const { org_id: org, message_id, state } of recipients) {
    if (state !== 'suppressed') continue;
    const domain = domainOf.get(message_id)!;
    const counted = counts.get(domain);
    if (counted) counted.count++;
    else counts.set(domain, { org, domain, count: 1 });
  }
  return [...counts.values()];
}

/**
 * Inserts a batch in one statement. Recipients with a lease belong to its holder, which sends them at once. `is_open` is false if the segment was
 * sealed meanwhile; then the bytes just appended do not count.
 */
export function insertBatch(tx: Tx, at: string, { messages, recipients, leaseSeconds, segment = '' }: NewBatch) {
  const suppressed = countSuppressed(messages, recipients);
  const accepted = new Map<string, number>();
  for (const { org_id } of recipients) accepted.set(org_id, (accepted.get(org_id) ?? 0) + 1);
  return rows(tx, InsertedRecipientRow)`
    with message as (
           insert into email.message (org_id, id, direction, state, state_at, created_at, scheduled_at, door, domain_id, send_key_id, sender, recipients,
                                      copies, subject, message_id, tags, body_key, body_offset, body_bytes, header_bytes, body_hash)
           select org_id, id, 'send', state, ${at}::timestamptz, ${at}::timestamptz, scheduled_at, door, domain_id, send_key_id, sender, recipients,
                  copies, subject, message_id, tags, body_key, body_offset, body_bytes, header_bytes, decode(body_hash, 'hex')
             from json_to_recordset(${JSON.stringify(messages)}::json) as m(
                  org_id text, id text, state text, scheduled_at timestamptz, door text, domain_id text, send_key_id text, sender text, recipients text[],
                  copies text[], subject text, message_id text, tags jsonb, body_key text, body_offset bigint, body_bytes bigint, header_bytes int, body_hash text)),
         counted as (
           update email.usage u set accepted = u.accepted + a.n
             from unnest(${[...accepted.keys()]}::text[], ${[...accepted.values()]}::int[]) as a(org, n)
            where u.org_id = a.org and u.day = (${at}::timestamptz at time zone 'UTC')::date),
         summed as (
           insert into email.outcome_change (org_id, domain_id, day, sent, delivered, bounced, hard, complained, suppressed)
           select org, domain, (${at}::timestamptz at time zone 'UTC')::date, 0, 0, 0, 0, 0, n
             from unnest(${suppressed.map((s) => s.org)}::text[], ${suppressed.map((s) => s.domain)}::text[], ${suppressed.map((s) => s.count)}::int[]) as s(org, domain, n)),
         open as (select key from email.segment where key = ${segment} and sealed_at is null for share)
    insert into email.recipient (org_id, message_id, address, folded, state, state_at, node, run_at, attempts, lease, lease_until, done_at)
    select org_id, message_id, address, folded, state, ${at}::timestamptz, node, coalesce(run_at, ${at}::timestamptz), case when lease is null then 0 else 1 end, lease,
           case when lease is not null then ${at}::timestamptz + make_interval(secs => ${leaseSeconds}) end,
           case when state = 'suppressed' then ${at}::timestamptz end
      from json_to_recordset(${JSON.stringify(recipients)}::json) as r(
           org_id text, message_id text, address text, folded text, state text, node text, run_at timestamptz, lease uuid)
    returning id, message_id, address, (${segment} = '' or exists (select from open)) as is_open`;
}

/** Stores the message ids of idempotency keys; keys without messages are released. */
export const saveSubmissions = (tx: Tx, made: readonly { org: string; key: string; ids: readonly string[] }[]): Promise<number> => run(tx)`
  with made as (select * from json_to_recordset(${JSON.stringify(made)}::json) as m(org text, key text, ids text[])),
       freed as (delete from email.submission s using made m where s.org_id = m.org and s.key = m.key and cardinality(m.ids) = 0)
  update email.submission s set message_ids = m.ids from made m where s.org_id = m.org and s.key = m.key and cardinality(m.ids) > 0`;
