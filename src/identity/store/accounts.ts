import Type, { type Static } from 'typebox';
import { row, type Tx } from '../../kernel/db/index.ts';

const AccountRow = Type.Object({ id: Type.String(), email: Type.String(), name: Type.String() });
/** A person, whatever organizations they belong to. */
export type Account = Static<typeof AccountRow>;

export const accountByEmail = (tx: Tx, email: string): Promise<Account | undefined> =>
  row(tx, AccountRow)`select id, email, name from identity.account where lower(email) = lower(${email})`;

/** Undefined when somebody makes an account of this address at the same moment. */
export const insertAccount = (tx: Tx, email: string, name: string): Promise<Account | undefined> => row(tx, AccountRow)`
  insert into identity.account (id, email, name, created_at) values (kernel.new_id('usr'), ${email}, ${name}, kernel.now())
  on conflict do nothing returning id, email, name`;
