import Type from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';

const PasswordRow = Type.Object({ user_id: Type.String(), phc: Type.String() });

export const passwordsOf = (tx: Tx, userIds: readonly string[]) => rows(tx, PasswordRow)`
  select user_id, phc from account.password where user_id = any(${[...userIds]})`;

const FoundRow = Type.Object({ found: Type.Boolean() });

export const hasPassword = async (tx: Tx, userId: string): Promise<boolean> =>
  (await row(tx, FoundRow)`select exists (select from account.password where user_id = ${userId}) as found`)!.found;

/** Whether it is still this one. It does not change until the transaction ends. */
export const sharePassword = async (tx: Tx, userId: string, phc: string): Promise<boolean> =>
  (await run(tx)`select from account.password where user_id = ${userId} and phc = ${phc} for share`) > 0;

export const savePassword = (tx: Tx, userId: string, phc: string) => run(tx)`
  insert into account.password (user_id, phc, changed_at) values (${userId}, ${phc}, kernel.now())
  on conflict (user_id) do update set phc = excluded.phc, changed_at = excluded.changed_at`;

/** The same password with other parameters. Nothing happens if it was changed meanwhile. */
export const replaceHash = (tx: Tx, userId: string, before: string, after: string) => run(tx)`
  update account.password set phc = ${after} where user_id = ${userId} and phc = ${before}`;
