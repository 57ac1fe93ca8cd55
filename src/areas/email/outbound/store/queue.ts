import Type, { type Static } from 'typebox';
import { rows, run, type Tx } from '../../../../kernel/db/index.ts';
import { claimFairly, type FairClaim, hintEach, type Leased, orgsAfter, type Queue, renew } from '../../../../kernel/jobs/index.ts';
import { type Sql, sql } from '../../../../kernel/sql.ts';

// The queue of recipients: claimed under leases with organizations in turn, and settled in batches.

/** A claim by this process. Bytes of some rows are only on one machine (`node`). */
export interface LocalClaim extends Pick<FairClaim, 'orgs' | 'running' | 'perOrg' | 'limit' | 'lease'> {
  leaseSeconds: number;
  /** Rows already in this process's hands, even if their leases look expired. */
  held: readonly number[];
  node: string;
}

const queue: Queue = { table: sql`email.recipient`, idType: sql`bigint` };
const isOpen = sql`q.done_at is null`;

/** Organizations with unfinished recipients, after `after`. */
export const findOrgs = (tx: Tx, after: string): Promise<string[]> => orgsAfter(tx, queue, { which: isOpen, org: sql`q.org_id`, after });

const PausedRow = Type.Object({ org_id: Type.String() });
export const findPaused = async (tx: Tx): Promise<Set<string>> =>
  new Set((await rows(tx, PausedRow)`select org_id from email.posture where paused_at is not null`).map((p) => p.org_id));

const ClaimedRow = Type.Object({
  id: Type.Integer(),
  org_id: Type.String(),
  message_id: Type.String(),
  address: Type.String(),
  tries: Type.Integer(),
  lease: Type.String(),
  late_ms: Type.Number(),
  place: Type.Integer(),
});
export type ClaimedRow = Static<typeof ClaimedRow>;

export const claimRecipients = (tx: Tx, wanted: LocalClaim): Promise<ClaimedRow[]> =>
  claimFairly(tx, ClaimedRow, queue, {
    ...wanted,
    which: sql`${isOpen} and (q.node is null or q.node = ${wanted.node}) and q.id <> all(${wanted.held}::bigint[])`,
    org: sql`q.org_id`,
    seen: new Map(),
    returning: sql`q.id, q.org_id, q.message_id, q.address, q.tries`,
  });

const SendingMessageRow = Type.Object({
  now: Type.String(),
  id: Type.String(),
  domain_id: Type.String(),
  body_key: Type.Union([Type.String(), Type.Null()]),
  body_offset: Type.Integer(),
  body_bytes: Type.Integer(),
  header_bytes: Type.Integer(),
  body_hash: Type.Unsafe<Buffer>({}),
  is_scheduled: Type.Boolean(),
});
export type SendingMessageRow = Static<typeof SendingMessageRow>;

/** Marks claimed recipients and their messages as `sending`, and returns the messages. */
export async function markSending(tx: Tx, recipients: readonly number[], messages: readonly string[]): Promise<SendingMessageRow[]> {
  const [, found] = await Promise.all([
    run(
      tx,
    )`update email.recipient set state = 'sending', state_at = kernel.now() where id = any(${recipients}::bigint[]) and state <> 'sending'`,
    rows(tx, SendingMessageRow)`
      with marked as (update email.message set state = 'sending', state_at = kernel.now() where id = any(${messages}::text[]) and state in ('queued', 'deferred'))
      select kernel.now() as now, id, domain_id, body_key, body_offset, body_bytes, header_bytes, body_hash,
             scheduled_at is not null as is_scheduled
        from email.message where id = any(${messages}::text[])`,
  ]);
  return found;
}

export const renewRecipients = (tx: Tx, leased: readonly (Leased & { leaseSeconds: number })[]) => renew(tx, queue, leased);

/** The outcome of one attempt. The keys are stored in the journal and read by SQL. */
export interface RecipientOutcome {
  id: number;
  lease: string;
  message_id: string;
  state: 'delivered' | 'sent' | 'bounced' | 'deferred' | 'queued' | 'failed' | 'suppressed';
  /** Delay of the next attempt. */
  after_seconds: number;
  /** The remote server deferred it, so the attempt counts. */
  counts: boolean;
  error: string | null;
  bounce_type: string | null;
  /** The message was handed over, whatever the answer was. */
  handed: boolean;
  /** The delay is our own fault, not the remote server's. */
  ours?: boolean;
  detail: Record<string, unknown> | null;
}

const SettledRow = Type.Object({
  id: Type.Integer(),
  org_id: Type.String(),
  message_id: Type.String(),
  address: Type.String(),
  fate: Type.String(),
  bounce_type: Type.Union([Type.String(), Type.Null()]),
  /** First hand-over of its message. */
  is_first: Type.Boolean(),
  /** A delay notice is due. */
  is_late: Type.Boolean(),
  at: Type.String(),
  next_at: Type.String(),
  /** The new suppression, if any. */
  suppression_id: Type.Union([Type.String(), Type.Null()]),
});
export type SettledRow = Static<typeof SettledRow>;

/** `is_alone`: the only recipient of its message. */
const FoundRow = Type.Object({ ...SettledRow.properties, is_alone: Type.Boolean() });

/** Interval of delay notices per recipient; delays below 30 s cause none. */
const delayNoticeInterval = sql`interval '4 hours'`;
const minDelayNoticeSeconds = 30;

/** Simulated recipients cause no suppression and do not count towards the pause. */
const isSimulated = (folded: Sql) => sql`${folded} like '%@simulator.invalid'`;

/** Seconds of attempts after which a deferred recipient fails. */
const giveUpAfterSeconds = 72 * 3_600;
/** At most this much lateness of an attempt counts; the rest is our own delay (a pause, no server, a long queue). */
const maxCountedLateSeconds = 600;

/** What became of the recipients of a batch, by domain: a row each, which a task adds up. Appended, so that no two batches wait for each other. */
const outcomesOfDay = sql`
  insert into email.outcome_change (org_id, domain_id, day, sent, delivered, bounced, hard, complained, suppressed)
  select org_id, domain_id, (clock.now at time zone 'UTC')::date, count(*) filter (where fate in ('delivered', 'sent') or is_bounce),
         count(*) filter (where fate = 'delivered'), count(*) filter (where is_bounce),
         count(*) filter (where fate = 'bounced' and bounce_type = 'hard'), 0, count(*) filter (where fate = 'suppressed')
    from (select *, fate = 'bounced' or fate = 'failed' and bounce_type is not null as is_bounce from fate) f, clock
   where (fate in ('delivered', 'sent', 'suppressed') or is_bounce) and not ${isSimulated(sql`folded`)}
   group by org_id, domain_id, clock.now`;

/**
 * Records outcomes whose leases are still valid, with events, suppressions and message states. Messages are locked first and in order, so that
 * two recipients of one message, settled concurrently, cannot each see the other as unfinished.
 */
export async function settleRecipients(tx: Tx, fates: readonly RecipientOutcome[]): Promise<SettledRow[]> {
  const messages = [...new Set(fates.map((f) => f.message_id))];
  const [, , found] = await Promise.all([
    // A plan from a small table would scan it, until PostgreSQL updates its statistics.
    run(tx)`set local enable_seqscan = off`,
    run(tx)`select id from email.message where id = any(${messages}::text[]) order by id for update`,
    rows(tx, FoundRow)`
      with clock as materialized (select kernel.now() as now),
           told as materialized (
             select * from json_to_recordset(${JSON.stringify(fates)}::json) as t(
                    id bigint, lease uuid, state text, after_seconds int, counts boolean, error text, bounce_type text, handed boolean, ours boolean, detail jsonb)),
           -- By id only: otherwise the planner may walk the index of all waiting rows.
           mine as materialized (
             select id, lease, done_at, org_id, message_id, address, folded, delay_told_at, last_error, run_at, tried_seconds from email.recipient where id = any(${fates.map((f) => f.id)}::bigint[])),
           fate as materialized (
             select t.id, t.after_seconds, t.counts, t.detail, r.org_id, m.domain_id, r.message_id, r.address, r.folded,
                    case when t.state in ('delivered', 'sent') then null else coalesce(t.error, r.last_error) end as last_error,
                    not exists (select from email.recipient o where o.message_id = r.message_id and o.id <> r.id) as is_alone,
                    t.handed and m.sent_at is null as is_first,
                    t.state = 'deferred' and not g.up and t.detail is not null and (t.counts or t.error is distinct from r.last_error) as is_put_off,
                    t.state = 'deferred' and not g.up and (t.counts or t.after_seconds >= ${minDelayNoticeSeconds})
                      and coalesce(r.delay_told_at <= clock.now - ${delayNoticeInterval}, true) as is_late,
                    case when e.counts then e.seconds + t.after_seconds else r.tried_seconds end as tried_seconds,
                    g.up, case when g.up then 'failed' else t.state end as fate, case when g.up then 'soft' else t.bounce_type end as bounce_type
               from told t
               join mine r on r.id = t.id and r.lease = t.lease and r.done_at is null
               join email.message m on m.id = r.message_id
              cross join clock
              -- Time spent waiting for the remote server: the planned delay plus bounded lateness. The first attempt counts nothing.
              cross join lateral (
                select t.state = 'deferred' and t.ours is not true as counts,
                       coalesce(r.tried_seconds + least(greatest(extract(epoch from clock.now - r.run_at), 0), ${maxCountedLateSeconds})::int, 0) as seconds) e
              cross join lateral (select e.counts and e.seconds >= ${giveUpAfterSeconds} as up) g),
           settled as (
             update email.recipient r
                set state = f.fate, state_at = clock.now, last_error = f.last_error, lease = null, lease_until = null,
                    tries = r.tries + case when f.counts then 1 else 0 end, tried_seconds = f.tried_seconds, delay_told_at = case when f.is_late then clock.now else r.delay_told_at end,
                    run_at = case when f.fate in ('deferred', 'queued') then clock.now + make_interval(secs => f.after_seconds) else r.run_at end,
                    done_at = case when f.fate not in ('deferred', 'queued') then clock.now end
               from fate f, clock where r.id = f.id),
           -- A message with one recipient takes its outcome, without another query.
           followed as (
             update email.message m
                set state = f.fate, state_at = case when m.state = f.fate then m.state_at else clock.now end,
                    sent_at = case when f.is_first then clock.now else m.sent_at end, last_error = f.last_error
               from fate f, clock where f.is_alone and m.id = f.message_id),
           noted as (
             insert into email.event (message_id, org_id, kind, bounce_type, recipient, detail, occurred_at)
             select message_id, org_id, kind, bounce_type, recipient, detail, clock.now from (
               select distinct on (message_id) message_id, org_id, 'sent' as kind, null as bounce_type, null as recipient, detail, 0 as n from fate where is_first
               union all
               select message_id, org_id, case when fate = 'delivered' then 'delivered' else 'bounced' end, bounce_type, address, detail, 1
                 from fate where fate in ('delivered', 'bounced') or fate = 'failed' and bounce_type is not null
               union all
               select message_id, org_id, 'deferred', null, address, detail, 1 from fate where is_put_off) e, clock
              order by n),
           counted as (
             insert into email.sending_hour as h (org_id, hour, recipients, hard, complaints)
             select org_id, date_trunc('hour', clock.now, 'UTC'), count(*), count(*) filter (where fate = 'bounced' and bounce_type = 'hard'), 0
               from fate, clock where (fate in ('delivered', 'sent', 'bounced') or fate = 'failed' and bounce_type is not null) and not ${isSimulated(sql`folded`)}
              group by org_id, clock.now order by org_id
                 on conflict (org_id, hour) do update set recipients = h.recipients + excluded.recipients, hard = h.hard + excluded.hard),
           summed as (${outcomesOfDay}),
           suppressed as (
             insert into email.suppression (org_id, id, address, reason, created_at)
             select distinct on (org_id, folded) org_id, kernel.new_id('sup'), folded, 'bounce', clock.now
               from fate, clock where fate = 'bounced' and bounce_type = 'hard' and not ${isSimulated(sql`folded`)} order by org_id, folded
                 on conflict do nothing returning org_id, address, id)
      select f.id, f.org_id, f.message_id, f.address, f.fate, f.bounce_type, f.is_first, f.is_late,
             clock.now as at, clock.now + make_interval(secs => f.after_seconds) as next_at, s.id as suppression_id, f.is_alone
        from fate f cross join clock left join suppressed s on s.org_id = f.org_id and s.address = f.folded`,
  ]);
  hintSettled(tx, found);
  const shared = [...new Set(found.flatMap((f) => (f.is_alone ? [] : [f.message_id])))];
  if (shared.length > 0) await updateMessageStates(tx, shared);
  return found;
}

function hintSettled(tx: Tx, settled: readonly SettledRow[]): void {
  hintEach(
    tx,
    settled.map(({ org_id }) => org_id),
    'email.message',
  );
  hintEach(
    tx,
    settled.flatMap(({ org_id, suppression_id }) => (suppression_id === null ? [] : [org_id])),
    'email.suppression',
  );
}

/** Derives message states from recipients: progress while one is unfinished, then the worst outcome. */
export const updateMessageStates = (tx: Tx, messages: readonly string[]): Promise<number> => run(tx)`
  with clock as materialized (select kernel.now() as now) -- once: it costs more than a row does
  update email.message m
     set state = s.state, state_at = case when m.state = s.state then m.state_at else clock.now end,
         sent_at = coalesce(m.sent_at, (select min(occurred_at) from email.event e where e.message_id = m.id and e.kind = 'sent')),
         last_error = s.last_error
    from (select message_id,
                 case when bool_or(done_at is null)
                      then case when bool_or(state = 'deferred') then 'deferred' when bool_or(state = 'sending') then 'sending' else 'queued' end
                      when bool_or(state = 'complained') then 'complained' when bool_or(state = 'bounced') then 'bounced'
                      when bool_or(state = 'failed') then 'failed' when bool_or(state = 'suppressed') then 'suppressed'
                      when bool_or(state = 'sent') then 'sent' else 'delivered' end as state,
                 (array_agg(last_error order by state_at desc) filter (where last_error is not null))[1] as last_error
            from email.recipient where message_id = any(${messages}::text[]) group by message_id) s, clock
   where m.id = s.message_id`;

const MessageRow = Type.Object({ id: Type.String() });

/** Messages whose send key is revoked. */
export const findRevoked = async (tx: Tx, messages: readonly string[]): Promise<ReadonlySet<string>> =>
  new Set(
    (
      await rows(tx, MessageRow)`
        select m.id from email.message m join email.send_key k on k.id = m.send_key_id
         where m.id = any(${messages}::text[]) and k.revoked_at is not null`
    ).map(({ id }) => id),
  );

const RecipientRow = Type.Object({ id: Type.Integer() });

/** Recipients on their organization's suppression list. */
export const findSuppressed = async (tx: Tx, recipients: readonly number[]): Promise<ReadonlySet<number>> =>
  new Set(
    (
      await rows(tx, RecipientRow)`
        select r.id from email.recipient r join email.suppression s on s.org_id = r.org_id and s.address = r.folded
         where r.id = any(${recipients}::bigint[])`
    ).map(({ id }) => id),
  );
