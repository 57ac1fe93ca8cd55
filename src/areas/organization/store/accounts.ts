import Type, { type Static } from 'typebox';
import { row, run, type Tx } from '../../../kernel/db/index.ts';
import { sql } from '../../../kernel/sql.ts';

const AccountRow = Type.Object({ id: Type.String(), email: Type.String(), name: Type.String() });
/** A person, whatever organizations they belong to. */
export type Account = Static<typeof AccountRow>;

const columns = sql`id, email, name`;

/** The account of this address that the operator made. Accounts that links made, of which an address may have several, do not count. */
export const findVouchedAccount = (tx: Tx, email: string): Promise<Account | undefined> =>
  row(tx, AccountRow)`select ${columns} from identity.account where lower(email) = lower(${email}) and vouched`;

/** Whether the account that the operator made for this address is a member somewhere: then only its tokens may act for it. */
export const hasVouchedMember = async (tx: Tx, email: string): Promise<boolean> =>
  (await run(tx)`
    select 1 from identity.account a
     where lower(email) = lower(${email}) and vouched and exists (select 1 from identity.member m where m.user_id = a.id)`) > 0;

/** Undefined when the operator makes an account of this address at the same moment. */
export const insertAccount = (tx: Tx, a: { email: string; name: string; vouched: boolean }): Promise<Account | undefined> =>
  row(tx, AccountRow)`
    insert into identity.account (id, email, name, vouched, created_at)
    values (kernel.new_id('usr'), ${a.email}, ${a.name}, ${a.vouched}, kernel.now())
    on conflict do nothing returning ${columns}`;

/**
 * The account of a former member that has belonged to no organization since. Lock the organization first: only that organization can reuse
 * the account.
 */
export const takeUpAccount = (tx: Tx, org: string, email: string, name: string | undefined): Promise<Account | undefined> =>
  row(tx, AccountRow)`
    update identity.account set left_org = null, left_at = null, name = coalesce(${name ?? null}, name)
     where id = (select id from identity.account a where lower(email) = lower(${email}) and left_org = ${org}
                    and not exists (select 1 from identity.member m where m.user_id = a.id) order by id desc limit 1)
    returning ${columns}`;

/** The account that `takeUpAccount` would reuse. */
export const findFormerMember = (tx: Tx, org: string, email: string): Promise<Account | undefined> =>
  row(tx, AccountRow)`
    select ${columns} from identity.account a where lower(email) = lower(${email}) and left_org = ${org}
       and not exists (select 1 from identity.member m where m.user_id = a.id) order by id desc limit 1`;

/** Two organizations may end the last memberships of an account at once: the second transaction sees that none is left. */
export const lockAccount = (tx: Tx, id: string) => run(tx)`select 1 from identity.account where id = ${id} for no key update`;

/** Marks a locked account that has no membership left. It has no tokens then, so it no longer counts as vouched for. */
export const leaveAccount = (tx: Tx, id: string, lastOrg: string) => run(tx)`
  update identity.account set vouched = false, left_org = ${lastOrg}, left_at = kernel.now()
   where id = ${id} and not exists (select 1 from identity.member where user_id = ${id})`;

/** Deletes a batch of accounts that have belonged to no organization for `days` days. */
export const deleteLeftAccounts = (tx: Tx, days: number, limit: number): Promise<number> => run(tx)`
  delete from identity.account where id in (
    select id from identity.account a where left_at < kernel.now() - make_interval(days => ${days})
       and not exists (select 1 from identity.member m where m.user_id = a.id)
     order by left_at limit ${limit} for update skip locked)`;
