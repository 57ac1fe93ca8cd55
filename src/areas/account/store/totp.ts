import Type, { type Static } from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';

const TotpRow = Type.Object({
  secret: Type.Unsafe<Buffer>({}),
  is_confirmed: Type.Boolean(),
  last_step: Type.Integer(),
  now_seconds: Type.Number(),
});
export type TotpRow = Static<typeof TotpRow>;

/** The seal context of a person's secret. */
export const sealContext = (userId: string): string => `account.totp.secret.${userId}`;

/** Locked: of two codes at once, the second finds the step that the first one used. */
export const lockTotp = (tx: Tx, userId: string) => row(tx, TotpRow)`
  select secret, confirmed_at is not null as is_confirmed, last_step::float8 as last_step, extract(epoch from kernel.now())::float8 as now_seconds
    from account.totp where user_id = ${userId} for update`;

export const totpOf = (tx: Tx, userId: string) => row(tx, TotpRow)`
  select secret, confirmed_at is not null as is_confirmed, last_step::float8 as last_step, extract(epoch from kernel.now())::float8 as now_seconds
    from account.totp where user_id = ${userId}`;

export const useStep = (tx: Tx, userId: string, step: number) => run(tx)`
  update account.totp set last_step = ${step} where user_id = ${userId}`;

/** Begins anew with another secret. 0: there is one that counts. */
export const saveUnconfirmed = (tx: Tx, userId: string, secret: Buffer) => run(tx)`
  insert into account.totp as t (user_id, secret, created_at) values (${userId}, ${secret}, kernel.now())
  on conflict (user_id) do update set secret = excluded.secret, created_at = excluded.created_at where t.confirmed_at is null`;

export const confirmTotp = (tx: Tx, userId: string, step: number) => run(tx)`
  update account.totp set confirmed_at = kernel.now(), last_step = ${step} where user_id = ${userId} and confirmed_at is null`;

export const deleteTotp = (tx: Tx, userId: string) => run(tx)`delete from account.totp where user_id = ${userId}`;

/** Of two uses at once, one gets the row. */
export const useRecoveryCode = async (tx: Tx, userId: string, hash: Buffer): Promise<boolean> =>
  (await run(tx)`
    update account.recovery_code set used_at = kernel.now() where user_id = ${userId} and hash = ${hash} and used_at is null`) > 0;

export const replaceRecoveryCodes = async (tx: Tx, userId: string, hashes: readonly Buffer[]): Promise<void> => {
  await run(tx)`delete from account.recovery_code where user_id = ${userId}`;
  await run(tx)`insert into account.recovery_code (user_id, hash) select ${userId}, h from unnest(${[...hashes]}::bytea[]) h`;
};

const CountRow = Type.Object({ count: Type.Integer() });

/** How many codes a person has left. */
export const recoveryCodesLeft = async (tx: Tx, userId: string): Promise<number> =>
  (await rows(tx, CountRow)`select count(*)::int as count from account.recovery_code where user_id = ${userId} and used_at is null`)[0]!
    .count;
