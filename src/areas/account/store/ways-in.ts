import Type from 'typebox';
import { row, type Tx } from '../../../kernel/db/index.ts';

const FoundRow = Type.Object({ found: Type.Boolean() });

/** Whether a person can sign in by themselves: with a password, or a passkey. */
export const hasWayIn = async (tx: Tx, userId: string): Promise<boolean> =>
  (await row(tx, FoundRow)`
    select exists (select from account.password where user_id = ${userId}) or exists (select from account.passkey where user_id = ${userId}) as found`)!
    .found;

/** Whether a person has set up a passkey or an authenticator app. */
export const hasSecondWay = async (tx: Tx, userId: string): Promise<boolean> =>
  (await row(tx, FoundRow)`
    select exists (select from account.passkey where user_id = ${userId})
        or exists (select from account.totp where user_id = ${userId} and confirmed_at is not null) as found`)!.found;
