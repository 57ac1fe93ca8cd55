import Type from 'typebox';
import { row, run, type Tx } from '../../../kernel/db/index.ts';

const OwnerRow = Type.Object({ user_id: Type.String() });

/** The person who last signed in with this browser. */
export const ownerOfBrowser = async (tx: Tx, hash: Buffer): Promise<string | undefined> =>
  (await row(tx, OwnerRow)`select user_id from account.known_browser where hash = ${hash}`)?.user_id;

/** The same, if the person has this address. */
export const ownerOfBrowserAt = async (tx: Tx, hash: Buffer, email: string): Promise<string | undefined> =>
  (
    await row(tx, OwnerRow)`
    select b.user_id from account.known_browser b join identity.account a on a.id = b.user_id
     where b.hash = ${hash} and lower(a.email) = lower(${email})`
  )?.user_id;

export const insertBrowser = (tx: Tx, userId: string, hash: Buffer) => run(tx)`
  insert into account.known_browser (hash, user_id, created_at, seen_at) select ${hash}, ${userId}, now, now from kernel.now() now
  on conflict do nothing`;

export const deleteBrowser = (tx: Tx, userId: string, hash: Buffer) => run(tx)`
  delete from account.known_browser where hash = ${hash} and user_id = ${userId}`;

/** Leaves the person the browsers that were used last. */
export const deleteBrowsersBeyond = (tx: Tx, userId: string, count: number) => run(tx)`
  delete from account.known_browser where hash in (
    select hash from account.known_browser where user_id = ${userId} order by seen_at desc, hash offset ${count} for update skip locked)`;

export const deleteOldBrowsers = (tx: Tx, days: number, limit: number) => run(tx)`
  delete from account.known_browser where hash in (
    select hash from account.known_browser where seen_at < kernel.now() - make_interval(days => ${days}) order by seen_at limit ${limit} for update skip locked)`;
