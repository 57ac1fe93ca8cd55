import Type, { type Static } from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';
import { hint } from '../../../kernel/jobs/index.ts';
import type { Pagination } from '../../../kernel/pagination.ts';
import { sql } from '../../../kernel/sql.ts';

const SubscriberRow = Type.Object({
  org_id: Type.String(),
  page_id: Type.String(),
  id: Type.String(),
  address: Type.String(),
  state: Type.Unsafe<'pending' | 'active'>({ type: 'string' }),
  token: Type.Unsafe<Buffer>({}),
  created_at: Type.String(),
  confirmed_at: Type.Union([Type.String(), Type.Null()]),
});
export type SubscriberRow = Static<typeof SubscriberRow>;
const columns = sql`org_id, page_id, id, address, state, token, created_at, confirmed_at`;

/** The seal context of a token. */
export const tokenSealContext = (id: string) => `status.subscriber.token.${id}`;

/** Validity of a confirmation link, and the minimum time between two links. */
export const confirmWithin = { hours: 24 };
const resendAfterMinutes = 10;

const CountRow = Type.Object({ page_id: Type.String(), n: Type.Integer() });
/** Confirmed subscribers of these pages; pages without any are absent. */
export const countSubscribers = async (tx: Tx, org: string, pageIds: readonly string[]): Promise<ReadonlyMap<string, number>> =>
  new Map(
    (
      await rows(tx, CountRow)`
        select page_id, count(*)::int as n from status.subscriber
         where org_id = ${org} and page_id = any(${pageIds}::text[]) and state = 'active' group by page_id`
    ).map((c) => [c.page_id, c.n]),
  );

export const listSubscribers = (tx: Tx, org: string, pageId: string, { limit, after }: Pagination) => rows(tx, SubscriberRow)`
  select ${columns} from status.subscriber
   where org_id = ${org} and page_id = ${pageId} and (${after}::text is null or id < ${after}) order by id desc limit ${limit + 1}`;

export const newSubscriberId = async (tx: Tx): Promise<string> =>
  (await row(tx, Type.Object({ id: Type.String() }))`select kernel.new_id('sub') as id`)!.id;

export interface NewSubscriber {
  id: string;
  address: string;
  token: Buffer;
  tokenHash: Buffer;
}

/** The subscriber to send a link to. Undefined: the address is subscribed already, or was sent a link within the last minutes. */
export function upsertPending(tx: Tx, org: string, pageId: string, s: NewSubscriber) {
  hint(tx, org, 'oncall.page');
  return row(tx, SubscriberRow)`
  insert into status.subscriber as old (org_id, page_id, id, address, state, token, token_hash, asked_at, created_at)
  select ${org}, ${pageId}, ${s.id}, ${s.address}, 'pending', ${s.token}::bytea, ${s.tokenHash}::bytea, c.now, c.now
    from (select kernel.now() as now offset 0) c
  on conflict (org_id, page_id, lower(address)) do update set asked_at = excluded.asked_at
   where old.state = 'pending' and old.asked_at < excluded.asked_at - make_interval(mins => ${resendAfterMinutes}::int)
  returning ${columns}`;
}

export const findSubscriber = (tx: Tx, org: string, id: string) => row(tx, SubscriberRow)`
  select ${columns} from status.subscriber where org_id = ${org} and id = ${id}`;

/** For readers, who have only their token. An expired confirmation counts as absent. */
export const findSubscriberByToken = (tx: Tx, pageId: string, tokenHash: Buffer) => row(tx, SubscriberRow)`
  select ${columns} from status.subscriber
   where token_hash = ${tokenHash}::bytea and page_id = ${pageId}
     and (state = 'active' or asked_at > kernel.now() - make_interval(hours => ${confirmWithin.hours}::int))`;

export function confirmSubscriber(tx: Tx, org: string, id: string) {
  hint(tx, org, 'oncall.page');
  return run(tx)`
  update status.subscriber set state = 'active', confirmed_at = kernel.now() where org_id = ${org} and id = ${id} and state = 'pending'`;
}

export async function deleteSubscriber(tx: Tx, org: string, pageId: string, id: string): Promise<boolean> {
  hint(tx, org, 'oncall.page');
  return (await run(tx)`delete from status.subscriber where org_id = ${org} and page_id = ${pageId} and id = ${id}`) > 0;
}

const IdRow = Type.Object({ id: Type.String() });
/** A batch of subscribers who had confirmed by `at`, after the id `after`. */
export const listSubscribersSince = (
  tx: Tx,
  org: string,
  { pageIds, at, after, limit }: { pageIds: readonly string[]; at: string; after: string; limit: number },
) => rows(tx, IdRow)`
  select id from status.subscriber
   where org_id = ${org} and page_id = any(${pageIds}::text[]) and state = 'active' and confirmed_at <= ${at}::timestamptz and id > ${after}
   order by id limit ${limit}`;

/** Deletes a batch of expired pending subscribers; returns how many. */
export const deleteUnconfirmed = (tx: Tx, limit: number) => run(tx)`
  delete from status.subscriber where (org_id, id) in (
    select org_id, id from status.subscriber
     where state = 'pending' and asked_at < (select kernel.now()) - make_interval(hours => ${confirmWithin.hours}::int)
     order by asked_at limit ${limit} for update skip locked)`;
