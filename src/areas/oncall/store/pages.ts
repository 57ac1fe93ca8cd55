import Type, { type Static } from 'typebox';
import { isAboutData, row, rows, run, type Tx } from '../../../kernel/db/index.ts';
import { hasJob, type NamedJob } from '../../../kernel/jobs/index.ts';
import { type Sql, sql } from '../../../kernel/sql.ts';
import { append } from '../../../kernel/steps.ts';
import { makeIds } from '../../../kernel/time.ts';
import { type ChannelName, channelNames } from '../rules/channels.ts';
import { setSavepoint, undoToSavepoint } from './savepoint.ts';
import type { TimelineEntry } from './timeline.ts';

const nullable = <T extends Type.TSchema>(schema: T) => Type.Union([schema, Type.Null()]);
const channel = Type.Unsafe<ChannelName>({ type: 'string', enum: [...channelNames] });
const pageState = Type.Unsafe<'queued' | 'sending' | 'sent' | 'delivered' | 'confirmed' | 'failed' | 'canceled'>({
  type: 'string',
  enum: ['queued', 'sending', 'sent', 'delivered', 'confirmed', 'failed', 'canceled'],
});

export interface NewPage {
  round: number;
  pass: number;
  step: number;
  /** 0 in an escalation, else the number of the notice to the acknowledger. */
  notice: number;
  /** Text beyond the incident itself. */
  about: string | null;
  userId: string;
  label: string;
  channel: ChannelName;
  ruleIndex: number;
  address: string | null;
  delaySeconds: number;
  /** Four digits that a reply names. */
  code: string;
  /** Pages held back since this person's last page about the incident. */
  heldBack: number;
}

const CodeRow = Type.Object({ code: Type.String() });
/** The codes among these that the person got within a day: a reply must not be ambiguous. */
export const takenCodes = async (tx: Tx, org: string, userId: string, codes: readonly string[]): Promise<ReadonlySet<string>> =>
  new Set(
    (
      await rows(tx, CodeRow)`
        select code from oncall.page where org_id = ${org} and user_id = ${userId} and code = any(${codes}::text[])
           and due_at > kernel.now() - interval '1 day'`
    ).map((p) => p.code),
  );

/** A page with its id and due time. */
export interface PageToMake extends NewPage {
  id: string;
  dueAt: string;
}

/** `firedAt`: a time read in this transaction. */
export function withDueTimes(firedAt: string, pages: readonly NewPage[]): PageToMake[] {
  const ids = makeIds('page', firedAt, pages.length);
  return pages.map((page, i) => ({ ...page, id: ids[i]!, dueAt: new Date(Date.parse(firedAt) + page.delaySeconds * 1000).toISOString() }));
}

export const insertPagesSql = (org: string, incidentId: string, pages: readonly PageToMake[]) => sql`
  insert into oncall.page (org_id, id, incident_id, round, pass, step, notice, about, user_id, label, channel, rule_index, address, code, state, due_at, held_back)
  select ${org}, p.id, ${incidentId}, p.round, p.pass, p.step, p.notice, p.about, p."userId", p.label, p.channel, p."ruleIndex", p.address,
         p.code, 'queued', p."dueAt", p."heldBack"
    from jsonb_to_recordset(${JSON.stringify(pages)}::jsonb)
           as p(id text, round int, pass int, step int, notice int, about text, "userId" text, label text, channel text, "ruleIndex" int, address text,
                "dueAt" timestamptz, code text, "heldBack" int)
  on conflict do nothing
  returning id`;

const MadeRow = Type.Object({ id: Type.String() });

export interface Inserted {
  made: PageToMake[];
  /** Pages that the database refused, with its reason. */
  unwritten: { page: NewPage; why: string }[];
}

/**
 * Inserts one page per rule. Pages of an earlier run of the step stay as they are. A page that the database refuses, such as an unknown
 * channel, does not affect the others.
 */
export async function insertPages(tx: Tx, org: string, incidentId: string, firedAt: string, wanted: readonly NewPage[]): Promise<Inserted> {
  const pages = withDueTimes(firedAt, wanted);
  const attempt = async (some: readonly PageToMake[]) => {
    const [, made] = await Promise.all([setSavepoint(tx), rows(tx, MadeRow)`${insertPagesSql(org, incidentId, some)}`]);
    return some.filter(({ id }) => made.some((m) => m.id === id));
  };
  const inserted: Inserted = { made: [], unwritten: [] };
  try {
    inserted.made = await attempt(pages);
  } catch (error) {
    await undoRefused(tx, error);
    for (const page of pages)
      await attempt([page])
        .then((made) => append(inserted.made, made))
        .catch(async (refused) => {
          await undoRefused(tx, refused);
          inserted.unwritten.push({ page, why: refused instanceof Error ? refused.message : String(refused) });
        });
  }
  return inserted;
}

/** Rolls back to the savepoint if the database refused the data. Other errors fail the transaction. */
async function undoRefused(tx: Tx, error: unknown): Promise<void> {
  if (!isAboutData(error)) throw error;
  await undoToSavepoint(tx);
}

const SendingRow = Type.Object({
  id: Type.String(),
  incident_id: Type.String(),
  user_id: Type.String(),
  label: Type.String(),
  channel,
  address: nullable(Type.String()),
  code: Type.String(),
  held_back: Type.Integer(),
  notice: Type.Integer(),
  about: nullable(Type.String()),
  attempts: Type.Integer(),
  sending_at: Type.String(),
  now: Type.String(),
  was: pageState,
  is_removed: Type.Boolean(),
  title: Type.String(),
  service_name: Type.String(),
  description: nullable(Type.String()),
});
export type SendingRow = Static<typeof SendingRow>;

/**
 * Marks the page `sending` before the provider is called, if `fenced` returns a row (this worker holds the job). Undefined: the page was
 * canceled or has ended. `is_removed`: the person is no member any more, so the page is canceled now.
 */
export const beginSending = (tx: Tx, org: string, id: string, fenced: Sql) => row(tx, SendingRow)`
  with job as materialized (${fenced}),
       was as materialized (
         select state, sending_at,
                state = 'queued' and not exists (select from identity.member m where m.org_id = q.org_id and m.user_id = q.user_id) as is_removed
           from oncall.page q where org_id = ${org} and id = ${id} and exists (select from job) for update)
  update oncall.page p
     set state = case when was.is_removed then 'canceled' else 'sending' end, ended_at = case when was.is_removed then c.now else p.ended_at end,
         attempts = p.attempts + 1, sending_at = coalesce(p.sending_at, c.now)
    from was, oncall.incident i, (select kernel.now() as now offset 0) c
   where p.org_id = ${org} and p.id = ${id} and was.state in ('queued', 'sending') and i.org_id = p.org_id and i.id = p.incident_id
  returning p.id, p.incident_id, p.user_id, p.label, p.channel, p.address, p.code, p.held_back, p.notice, p.about, p.attempts, p.sending_at, c.now,
            was.state as was, was.is_removed, i.title, i.service_name, i.description`;

const PageRow = Type.Object({
  id: Type.String(),
  incident_id: Type.String(),
  round: Type.Integer(),
  notice: Type.Integer(),
  pass: Type.Integer(),
  step: Type.Integer(),
  user_id: Type.String(),
  label: Type.String(),
  channel,
  rule_index: Type.Integer(),
  state: pageState,
  error: nullable(Type.String()),
  attempts: Type.Integer(),
  due_at: Type.String(),
  sent_at: nullable(Type.String()),
  passed_over: Type.Boolean(),
});
export type PageRow = Static<typeof PageRow>;

/** The newest pages, in the order of their due times. */
export const pagesOf = (tx: Tx, org: string, incidentId: string, limit: number) => rows(tx, PageRow)`
  select id, incident_id, round, notice, pass, step, user_id, label, channel, rule_index, state, error, attempts, due_at, sent_at, passed_over
    from (select * from oncall.page where org_id = ${org} and incident_id = ${incidentId} order by id desc limit ${limit}) p order by due_at, id`;

export const pageById = (tx: Tx, org: string, id: string) => row(tx, PageRow)`
  select id, incident_id, round, notice, pass, step, user_id, label, channel, rule_index, state, error, attempts, due_at, sent_at, passed_over
    from oncall.page where org_id = ${org} and id = ${id}`;

interface SentPage {
  providerId?: string;
  state: string;
}

/** The delivery report may be stored before the provider's first answer; then its state stays. */
const recordSentSql = (org: string, id: string, sent: SentPage) => sql`
  update oncall.page p set state = case when p.state = 'sending' then ${sent.state} else p.state end, error = null,
         provider_id = coalesce(${sent.providerId ?? null}, p.provider_id), sent_at = c.now, ended_at = c.now
    from (select kernel.now() as now offset 0) c
   where p.org_id = ${org} and p.id = ${id} and p.state in ('sending', 'sent', 'delivered', 'confirmed')`;

export const recordSent = (tx: Tx, org: string, id: string, sent: SentPage) => run(tx)`${recordSentSql(org, id, sent)}`;

/** The same in one statement with the end of its job and its timeline entry. 0: `ended` has no row, so nothing happened. */
export const endSent = (tx: Tx, org: string, page: SendingRow, sent: SentPage, line: TimelineEntry, ended: Sql) => run(tx)`
  with job as (${ended}), sent as (${recordSentSql(org, page.id, sent)} and exists (select from job))
  insert into oncall.timeline (org_id, incident_id, id, at, kind, message, data)
  select ${org}, ${page.incident_id}, ${makeIds('evt', page.now, 1)[0]}, kernel.now(), ${line.kind}, ${line.message}, ${JSON.stringify(line.data)}::jsonb
    from job`;

/** Moves the state forward, never back. False: it was there already, or the page has ended. */
export const advanceState = async (tx: Tx, org: string, id: string, to: 'delivered' | 'confirmed'): Promise<boolean> =>
  (await run(tx)`
    update oncall.page set state = ${to}, ended_at = kernel.now()
     where org_id = ${org} and id = ${id} and state = any(${to === 'delivered' ? ['sending', 'sent'] : ['sending', 'sent', 'delivered']}::text[])`) >
  0;

/** Queues the page for its next attempt; an acknowledgement can still cancel it. */
export const requeue = (tx: Tx, org: string, id: string, error: string, delaySeconds: number) => run(tx)`
  update oncall.page set state = 'queued', error = ${error}, due_at = kernel.now() + make_interval(secs => ${delaySeconds})
   where org_id = ${org} and id = ${id} and state in ('sending', 'sent')`;

/** Keeps the page `sending`, so that the next attempt asks the provider again. */
export const recordOutcomeUnknown = (tx: Tx, org: string, id: string, error: string, delaySeconds: number) => run(tx)`
  update oncall.page set error = ${error}, due_at = kernel.now() + make_interval(secs => ${delaySeconds})
   where org_id = ${org} and id = ${id} and state = 'sending'`;

/** The escalation continues without this page; see migration 0019. */
export const markPassedOver = (tx: Tx, org: string, id: string) => run(tx)`
  update oncall.page set passed_over = true where org_id = ${org} and id = ${id}`;

export const recordFailed = async (tx: Tx, org: string, id: string, error: string): Promise<boolean> =>
  (await run(tx)`
    update oncall.page set state = 'failed', error = ${error}, ended_at = kernel.now()
     where org_id = ${org} and id = ${id} and state in ('queued', 'sending', 'sent', 'delivered')`) > 0;

export const cancelPage = (tx: Tx, org: string, id: string) => run(tx)`
  update oncall.page set state = 'canceled', ended_at = kernel.now() where org_id = ${org} and id = ${id} and state in ('queued', 'sending')`;

/** Cancels all pages that are not being sent yet. */
export const cancelQueued = (tx: Tx, org: string, incidentIds: readonly string[]) => rows(tx, Type.Object({ incident_id: Type.String() }))`
  update oncall.page set state = 'canceled', ended_at = kernel.now()
   where org_id = ${org} and incident_id = any(${incidentIds}::text[]) and state = 'queued'
  returning incident_id`;

/** The same person's next queued page of the same step. */
export const nextRule = (
  tx: Tx,
  org: string,
  page: Pick<PageRow, 'incident_id' | 'round' | 'notice' | 'pass' | 'step' | 'user_id' | 'id'>,
) =>
  row(tx, Type.Object({ id: Type.String() }))`
    select id from oncall.page
     where org_id = ${org} and incident_id = ${page.incident_id} and round = ${page.round} and notice = ${page.notice}
       and pass = ${page.pass} and step = ${page.step} and user_id = ${page.user_id} and id <> ${page.id} and state = 'queued' and attempts = 0
     order by due_at, rule_index limit 1`;

type StepPosition = Pick<PageRow, 'incident_id' | 'round' | 'pass' | 'step'>;

/** The users who got a page in a step. */
export const usersPagedIn = async (tx: Tx, org: string, at: StepPosition): Promise<ReadonlySet<string>> =>
  new Set(
    (
      await rows(tx, Type.Object({ user_id: Type.String() }))`
        select distinct user_id from oncall.page
         where org_id = ${org} and incident_id = ${at.incident_id} and round = ${at.round} and pass = ${at.pass} and step = ${at.step} and notice = 0`
    ).map((p) => p.user_id),
  );

/** Steps of a pass with a page that has not failed and does not wait for a repair. */
export const stepsReached = async (tx: Tx, org: string, at: Omit<StepPosition, 'step'>): Promise<ReadonlySet<number>> =>
  new Set(
    (
      await rows(tx, Type.Object({ step: Type.Integer() }))`
        select distinct step from oncall.page
         where org_id = ${org} and incident_id = ${at.incident_id} and round = ${at.round} and pass = ${at.pass} and notice = 0
           and state not in ('failed', 'canceled') and not (passed_over and state in ('queued', 'sending'))`
    ).map((p) => p.step),
  );

const MadeAtRow = Type.Object({
  user_id: Type.String(),
  label: Type.String(),
  rule_index: Type.Integer(),
  state: pageState,
  error: nullable(Type.String()),
  about: nullable(Type.String()),
  passed_over: Type.Boolean(),
});
/** The pages of a step, or of one notice, in order. */
export const pagesAt = (tx: Tx, org: string, at: StepPosition & { notice: number }) => rows(tx, MadeAtRow)`
  select user_id, label, rule_index, state, error, about, passed_over from oncall.page
   where org_id = ${org} and incident_id = ${at.incident_id} and round = ${at.round} and pass = ${at.pass} and step = ${at.step}
     and notice = ${at.notice} order by id`;

const PositionRow = Type.Object({ pass: Type.Integer(), step: Type.Integer(), notice: Type.Integer() });
/** The position of a person's last page in a round of an incident. */
export const newestPositionOf = (tx: Tx, org: string, at: Pick<StepPosition, 'incident_id' | 'round'>, userId: string) => row(
  tx,
  PositionRow,
)`
  select pass, step, notice from oncall.page
   where org_id = ${org} and incident_id = ${at.incident_id} and round = ${at.round} and user_id = ${userId} order by id desc limit 1`;

/** Cancels a batch of a person's queued pages up to the id `until`, grouped by incident. */
export const cancelQueuedTo = (tx: Tx, org: string, userId: string, until: string, limit: number) =>
  rows(tx, Type.Object({ incident_id: Type.String() }))`
    update oncall.page set state = 'canceled', ended_at = kernel.now()
     where org_id = ${org} and id in (
       select id from oncall.page where org_id = ${org} and user_id = ${userId} and state = 'queued' and id <= ${until}
        order by incident_id, id limit ${limit} for no key update)
    returning incident_id`;

/** The last queued page to a person. */
export const lastQueuedTo = async (tx: Tx, org: string, userId: string): Promise<string | undefined> =>
  (
    await row(tx, Type.Object({ id: Type.String() }))`
      select id from oncall.page where org_id = ${org} and user_id = ${userId} and state = 'queued' order by id desc limit 1`
  )?.id;

export const makeDueNow = (tx: Tx, org: string, id: string) => run(tx)`
  update oncall.page set due_at = least(due_at, kernel.now()) where org_id = ${org} and id = ${id} and state = 'queued'`;

const OverdueRow = Type.Object({ org_id: Type.String(), id: Type.String() });
/** Overdue pages without this job. Organizations take turns, each with its oldest first, so that none hides another's. */
export const overduePages = (tx: Tx, seconds: number, job: NamedJob) => rows(tx, OverdueRow)`
  select org_id, id
    from (select org_id, id, row_number() over (partition by org_id order by due_at) as n
            from (select org_id, id, due_at from oncall.page
                   where state in ('queued', 'sending') and due_at < (select kernel.now()) - make_interval(secs => ${seconds})
                   order by due_at limit 100000) due
           where not ${hasJob(job, sql`due.id`)}) ranked
   order by n limit 1000`;
