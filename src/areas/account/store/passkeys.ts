import Type, { type Static } from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';

const ListedRow = Type.Object({
  id: Type.String(),
  credential_id: Type.Unsafe<Buffer>({}),
  transports: Type.Array(Type.String()),
  rp_id: Type.String(),
  name: Type.String(),
  created_at: Type.String(),
  used_at: Type.Union([Type.String(), Type.Null()]),
});
export type ListedPasskey = Static<typeof ListedRow>;

/** Oldest first. */
export const passkeysOf = (tx: Tx, userId: string): Promise<ListedPasskey[]> => rows(tx, ListedRow)`
  select id, credential_id, transports, rp_id, name, created_at, used_at from account.passkey where user_id = ${userId} order by id limit 100`;

const PasskeyRow = Type.Object({
  id: Type.String(),
  user_id: Type.String(),
  public_key: Type.Unsafe<Buffer>({}),
  rp_id: Type.String(),
});
export type PasskeyRow = Static<typeof PasskeyRow>;

export const passkeyByCredential = (tx: Tx, credentialId: Buffer) => row(tx, PasskeyRow)`
  select id, user_id, public_key, rp_id from account.passkey where credential_id = ${credentialId}`;

const UsedRow = Type.Object({ counter: Type.Number(), name: Type.String() });

/** Notes a use, and returns the counter before it, with the name. Undefined: the passkey was removed meanwhile. */
export const usePasskey = (tx: Tx, id: string, use: { counter: number; isBackedUp: boolean }) => row(tx, UsedRow)`
  update account.passkey p set counter = ${use.counter}, is_backed_up = ${use.isBackedUp}, used_at = kernel.now()
    from (select id, counter from account.passkey where id = ${id} for update) before
   where p.id = before.id returning before.counter::float8 as counter, p.name`;

export interface NewPasskey {
  userId: string;
  credentialId: Buffer;
  publicKey: Buffer;
  counter: number;
  transports: readonly string[];
  rpId: string;
  isBackedUp: boolean;
  name: string;
}

const InsertedRow = Type.Object({ id: Type.String() });

/** Undefined: this credential is registered already. */
export const insertPasskey = (tx: Tx, p: NewPasskey) => row(tx, InsertedRow)`
  insert into account.passkey (id, user_id, credential_id, public_key, counter, transports, rp_id, is_backed_up, name, created_at)
  values (kernel.new_id('psk'), ${p.userId}, ${p.credentialId}, ${p.publicKey}, ${p.counter}, ${[...p.transports]}, ${p.rpId}, ${p.isBackedUp}, ${p.name}, kernel.now())
  on conflict (credential_id) do nothing returning id`;

const NamedRow = Type.Object({ name: Type.String() });

/** Returns the name before. */
export const renamePasskeyRow = (tx: Tx, userId: string, id: string, name: string) => row(tx, NamedRow)`
  update account.passkey p set name = ${name}
    from (select id, name from account.passkey where id = ${id} and user_id = ${userId} for update) before
   where p.id = before.id returning before.name`;

export const deletePasskey = (tx: Tx, userId: string, id: string) => row(tx, NamedRow)`
  delete from account.passkey where id = ${id} and user_id = ${userId} returning name`;

/** Changes of a person's ways in come one after the other, so the last one is seen as such. */
export const lockWaysIn = (tx: Tx, userId: string) => run(tx)`select from identity.account where id = ${userId} for no key update`;

export const countPasskeys = (tx: Tx, userId: string): Promise<number> => run(tx)`select 1 from account.passkey where user_id = ${userId}`;

/** Whether the person can sign in: by a password, or by a passkey of this host (of any, where the host is an IP address). */
export const hasWayInAt = async (tx: Tx, userId: string, rpId: string | undefined): Promise<boolean> =>
  (await run(tx)`
    select 1 from account.password where user_id = ${userId}
     union all select 1 from account.passkey where user_id = ${userId} and rp_id = coalesce(${rpId ?? null}::text, rp_id)`) > 0;

const EndRow = Type.Object({ expires_at: Type.String() });

/** When a challenge that is made now is over. */
export const challengeEnd = async (tx: Tx, seconds: number): Promise<string> =>
  (await row(tx, EndRow)`select kernel.now() + make_interval(secs => ${seconds}) as expires_at`)!.expires_at;

/** False: the challenge was used before, or is over. */
export const useChallengeOnce = async (tx: Tx, hash: Buffer, expiresAt: string): Promise<boolean> =>
  (await run(tx)`
    insert into account.used_challenge (hash, expires_at)
    select ${hash}, ${expiresAt}::timestamptz where kernel.now() < ${expiresAt}::timestamptz
    on conflict (hash) do nothing`) > 0;

export const deleteOldChallenges = (tx: Tx, limit: number) => run(tx)`
  delete from account.used_challenge where hash in (
    select hash from account.used_challenge where expires_at < kernel.now() order by expires_at limit ${limit} for update skip locked)`;
