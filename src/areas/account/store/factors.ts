import Type from 'typebox';
import { rows, run, type Tx } from '../../../kernel/db/index.ts';

const UserRow = Type.Object({ user_id: Type.String() });

/** People whose account is deleted, and whose factors are left; `limit` at most. */
export const deletedPeople = async (tx: Tx, limit: number): Promise<string[]> =>
  (
    await rows(tx, UserRow)`
      select f.user_id from (
        select user_id from account.password union select user_id from account.passkey
         union select user_id from account.totp union select user_id from account.recovery_code) f
       where not exists (select from identity.account a where a.id = f.user_id) limit ${limit}`
  ).map(({ user_id }) => user_id);

/** All but the password. */
export async function deleteSecondFactorsOf(tx: Tx, userIds: readonly string[]): Promise<void> {
  await run(tx)`delete from account.passkey where user_id = any(${[...userIds]})`;
  await run(tx)`delete from account.totp where user_id = any(${[...userIds]})`;
  await run(tx)`delete from account.recovery_code where user_id = any(${[...userIds]})`;
}

export async function deleteFactorsOf(tx: Tx, userIds: readonly string[]): Promise<void> {
  await run(tx)`delete from account.password where user_id = any(${[...userIds]})`;
  await deleteSecondFactorsOf(tx, userIds);
}
