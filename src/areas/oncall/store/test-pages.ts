import Type, { type Static } from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';
import { type Sql, sql } from '../../../kernel/sql.ts';
import { type ChannelName, channelNames, phoneChannels } from '../rules/channels.ts';

const nullable = <T extends Type.TSchema>(schema: T) => Type.Union([schema, Type.Null()]);
const channel = Type.Unsafe<ChannelName>({ type: 'string', enum: [...channelNames] });
const pageState = Type.Unsafe<'queued' | 'sending' | 'sent' | 'delivered' | 'confirmed' | 'failed' | 'canceled'>({
  type: 'string',
  enum: ['queued', 'sending', 'sent', 'delivered', 'confirmed', 'failed', 'canceled'],
});

const TestPageRow = Type.Object({
  id: Type.String(),
  user_id: Type.String(),
  label: Type.String(),
  channel,
  address: nullable(Type.String()),
  code: Type.String(),
  state: pageState,
  error: nullable(Type.String()),
  attempts: Type.Integer(),
  created_at: Type.String(),
  sent_at: nullable(Type.String()),
  ended_at: nullable(Type.String()),
});
export type TestPageRow = Static<typeof TestPageRow>;

const columns = sql`t.id, t.user_id, t.label, t.channel, t.address, t.code, t.state, t.error, t.attempts, t.created_at, t.sent_at, t.ended_at`;

/** Until this transaction ends no other test of the person begins, in any organization. */
export const lockTests = (tx: Tx, userId: string) => run(tx)`select pg_advisory_xact_lock(hashtextextended(${`oncall.test ${userId}`}, 0))`;

/** The seconds until the person may begin another test; undefined: now. */
export const secondsUntilNext = async (tx: Tx, userId: string, pauseSeconds: number): Promise<number | undefined> =>
  (await row(tx, Type.Object({ seconds: nullable(Type.Integer()) }))`
    select ceil(extract(epoch from max(created_at) + make_interval(secs => ${pauseSeconds}) - (select kernel.now())))::int as seconds
      from oncall.test_page where user_id = ${userId} and created_at > (select kernel.now()) - make_interval(secs => ${pauseSeconds})`)!
    .seconds ?? undefined;

export interface NewTestPage {
  id: string;
  channel: ChannelName;
  address: string | null;
  code: string;
}

/** Replaces the person's earlier test in this organization. */
export async function replaceTest(
  tx: Tx,
  org: string,
  person: { id: string; label: string },
  at: string,
  pages: readonly NewTestPage[],
): Promise<TestPageRow[]> {
  await run(tx)`delete from oncall.test_page where org_id = ${org} and user_id = ${person.id}`;
  return rows(tx, TestPageRow)`
    insert into oncall.test_page as t (org_id, id, user_id, label, channel, address, code, state, created_at)
    select ${org}, p.id, ${person.id}, ${person.label}, p.channel, p.address, p.code, 'queued', ${at}
      from jsonb_to_recordset(${JSON.stringify(pages.map((page, i) => ({ ...page, i })))}::jsonb)
             as p(id text, channel text, address text, code text, i int) order by p.i
    returning ${columns}`;
}

/** The newest test of a person, in the order of the channels that it was asked for. */
export const testOf = (tx: Tx, org: string, userId: string) => rows(tx, TestPageRow)`
  select ${columns} from oncall.test_page t where org_id = ${org} and user_id = ${userId} order by id`;

export const testPageById = (tx: Tx, org: string, id: string) => row(tx, TestPageRow)`
  select ${columns} from oncall.test_page t where org_id = ${org} and id = ${id}`;

/** The newest test page to a phone within a day. `code`: the one with it. */
export const testPageTo = (tx: Tx, org: string, phone: string, code: string | undefined) => row(tx, TestPageRow)`
  select ${columns} from oncall.test_page t
   where org_id = ${org} and address = ${phone} and channel = any(${phoneChannels}::text[]) and created_at > kernel.now() - interval '1 day'
     and state in ('sending', 'sent', 'delivered', 'confirmed') and (${code ?? null}::text is null or code = ${code ?? null})
   order by id desc limit 1`;

const SendingTestRow = Type.Object({ ...TestPageRow.properties, sending_at: Type.String() });
export type SendingTestRow = Static<typeof SendingTestRow>;

/**
 * Marks the page `sending` before the provider is called, if `fenced` returns a row (this worker holds the job); or `canceled` when the person
 * is no member any more. Undefined: it has ended, or another test took its place.
 */
export const beginTestPage = (tx: Tx, org: string, id: string, fenced: Sql) => row(tx, SendingTestRow)`
  with job as materialized (${fenced})
  update oncall.test_page t
     set state = case when is_member then 'sending' else 'canceled' end, ended_at = case when is_member then t.ended_at else c.now end,
         attempts = t.attempts + 1, sending_at = coalesce(t.sending_at, c.now)
    from (select kernel.now() as now offset 0) c,
         lateral (select exists (select from identity.member m join oncall.test_page q on q.org_id = m.org_id and q.user_id = m.user_id
                                  where q.org_id = ${org} and q.id = ${id}) as is_member) m
   where t.org_id = ${org} and t.id = ${id} and t.state in ('queued', 'sending') and exists (select from job)
  returning ${columns}, t.sending_at`;

/** A report that came before the provider's first answer stays. */
export const recordTestSent = (tx: Tx, org: string, id: string, sent: { providerId?: string; state: string }) => run(tx)`
  update oncall.test_page t set state = case when t.state = 'sending' then ${sent.state} else t.state end, error = null,
         provider_id = coalesce(${sent.providerId ?? null}, t.provider_id), sent_at = c.now, ended_at = c.now
    from (select kernel.now() as now offset 0) c
   where t.org_id = ${org} and t.id = ${id} and t.state in ('sending', 'sent', 'delivered', 'confirmed')`;

/** It is tried again. `isOutcomeUnknown`: it stays `sending`, because it may have gone out. */
export const delayTestPage = (tx: Tx, org: string, id: string, error: string, isOutcomeUnknown: boolean) => run(tx)`
  update oncall.test_page set state = ${isOutcomeUnknown ? 'sending' : 'queued'}, error = ${error}
   where org_id = ${org} and id = ${id} and state in ('queued', 'sending')`;

/** A page that was answered did not fail, whatever a late report says. */
export const failTestPage = (tx: Tx, org: string, id: string, error: string) => run(tx)`
  update oncall.test_page set state = 'failed', error = ${error}, ended_at = kernel.now()
   where org_id = ${org} and id = ${id} and state in ('queued', 'sending', 'sent', 'delivered')`;

/** Moves the state forward, never back; how many. */
export const advanceTestPage = (tx: Tx, org: string, id: string, to: 'delivered' | 'confirmed') => run(tx)`
  update oncall.test_page set state = ${to}, ended_at = kernel.now()
   where org_id = ${org} and id = ${id} and state = any(${to === 'delivered' ? ['sending', 'sent'] : ['sending', 'sent', 'delivered']}::text[])`;

export const deleteOldTests = (tx: Tx) => run(tx)`delete from oncall.test_page where created_at < kernel.now() - interval '30 days'`;
