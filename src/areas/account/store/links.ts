import Type, { type Static } from 'typebox';
import { row, run, type Tx } from '../../../kernel/db/index.ts';

export type LinkPurpose = 'claim' | 'operator' | 'reset' | 'address';

const LinkRow = Type.Object({
  id: Type.String(),
  user_id: Type.String(),
  purpose: Type.Unsafe<LinkPurpose>({ type: 'string' }),
  detail: Type.String(),
  expires_at: Type.String(),
});
export type LinkRow = Static<typeof LinkRow>;

export const insertLink = (
  tx: Tx,
  l: { userId: string; hash: Buffer; purpose: LinkPurpose; detail: string; seconds: number },
): Promise<LinkRow | undefined> => row(tx, LinkRow)`
  insert into account.one_time_link (id, user_id, hash, purpose, detail, created_at, expires_at)
  select kernel.new_id('lnk'), ${l.userId}, ${l.hash}, ${l.purpose}, ${l.detail}, now, now + make_interval(secs => ${l.seconds}) from kernel.now() now
  returning id, user_id, purpose, detail, expires_at`;

export const linkByHash = (tx: Tx, hash: Buffer, purposes: readonly LinkPurpose[]) => row(tx, LinkRow)`
  select id, user_id, purpose, detail, expires_at from account.one_time_link
   where hash = ${hash} and purpose = any(${[...purposes]}) and kernel.now() < expires_at`;

/** Of two uses at once, one gets the row. */
export const takeLink = (tx: Tx, hash: Buffer, purposes: readonly LinkPurpose[]) => row(tx, LinkRow)`
  delete from account.one_time_link where hash = ${hash} and purpose = any(${[...purposes]}) and kernel.now() < expires_at returning id, user_id, purpose, detail, expires_at`;

/** Ends the person's links of these purposes. */
export const deleteLinksOf = (tx: Tx, userId: string, ...purposes: readonly LinkPurpose[]) => run(tx)`
  delete from account.one_time_link where user_id = ${userId} and purpose = any(${[...purposes]})`;

export const deleteOldLinks = (tx: Tx, limit: number) => run(tx)`
  delete from account.one_time_link where id in (
    select id from account.one_time_link where expires_at < kernel.now() order by expires_at limit ${limit} for update skip locked)`;
