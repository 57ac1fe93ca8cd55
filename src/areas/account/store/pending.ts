import Type, { type Static } from 'typebox';
import { row, run, type Tx } from '../../../kernel/db/index.ts';

const FoundRow = Type.Object({ found: Type.Boolean() });

/** Whether a code of an authenticator app is asked for. */
export const hasTotp = async (tx: Tx, userId: string): Promise<boolean> =>
  (await row(tx, FoundRow)`select exists (select from account.totp where user_id = ${userId} and confirmed_at is not null) as found`)!
    .found;

export const insertPending = (tx: Tx, p: { userId: string; hash: Buffer; methods: readonly string[]; seconds: number }) => run(tx)`
  insert into account.pending_sign_in (id, user_id, hash, methods, created_at, expires_at)
  select kernel.new_id('pnd'), ${p.userId}, ${p.hash}, ${[...p.methods]}, now, now + make_interval(secs => ${p.seconds}) from kernel.now() now`;

const PendingRow = Type.Object({ id: Type.String(), user_id: Type.String(), methods: Type.Array(Type.String()), tries: Type.Integer() });
export type PendingRow = Static<typeof PendingRow>;

/** Locked: of two codes at once, the second finds what the first left. */
export const lockPending = (tx: Tx, hash: Buffer) => row(tx, PendingRow)`
  select id, user_id, methods, tries from account.pending_sign_in where hash = ${hash} and kernel.now() < expires_at for update`;

export const countTry = (tx: Tx, id: string) => run(tx)`update account.pending_sign_in set tries = tries + 1 where id = ${id}`;

export const deletePending = (tx: Tx, id: string) => run(tx)`delete from account.pending_sign_in where id = ${id}`;

/** The password has changed: what was begun with the one before ends. */
export const deletePendingOf = (tx: Tx, userId: string) => run(tx)`delete from account.pending_sign_in where user_id = ${userId}`;

export const deleteOldPending = (tx: Tx, limit: number) => run(tx)`
  delete from account.pending_sign_in where id in (
    select id from account.pending_sign_in where expires_at < kernel.now() order by expires_at limit ${limit} for update skip locked)`;
