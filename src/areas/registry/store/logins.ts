import Type, { type Static } from 'typebox';
import { row, run, type Tx } from '../../../kernel/db/index.ts';
import { hint } from '../../../kernel/jobs/index.ts';
import type { Mode } from './keys.ts';

const MintedRow = Type.Object({ key_id: Type.String(), expires_at: Type.String() });

export interface NewLogin {
  userId: string;
  /** The personal token that mints it. */
  mintedBy: string;
  hash: Buffer;
  expiresIn: number;
  /** When that token expires. */
  notAfter: string;
  scope: readonly { registryId: string; mode: Mode }[];
}

export async function insertLogin(tx: Tx, org: string, login: NewLogin) {
  hint(tx, org, 'registry.key');
  const made = (await row(tx, MintedRow)`
    insert into registry.registry_key (key_id, org_id, user_id, name, hash, mode, prefixes, minted_via, minted_by, created_at, expires_at)
    values (kernel.new_id('rl'), ${org}, ${login.userId}, 'login', ${login.hash}, 'pull', '{}', 'login', ${login.mintedBy}, kernel.now(),
            least(kernel.now() + make_interval(secs => ${login.expiresIn}), ${login.notAfter}::timestamptz))
    returning key_id, expires_at`)!;
  await run(tx)`
    insert into registry.login_scope (key_id, registry_id, mode)
    select ${made.key_id}, * from unnest(${login.scope.map((s) => s.registryId)}::text[], ${login.scope.map((s) => s.mode)}::text[])`;
  return made;
}

const LoginRow = Type.Object({
  key_id: Type.String(),
  user_id: Type.String(),
  minted_by: Type.Union([Type.String(), Type.Null()]),
  registries: Type.Array(Type.String()),
});

export type LoginRow = Static<typeof LoginRow>;

/** A login that is neither revoked nor expired, locked. */
export const lockLogin = (tx: Tx, org: string, keyId: string) => row(tx, LoginRow)`
  select k.key_id, k.user_id, k.minted_by, array(select registry_id from registry.login_scope s where s.key_id = k.key_id) as registries
    from registry.registry_key k
   where k.org_id = ${org} and k.key_id = ${keyId} and k.minted_via = 'login' and k.revoked_at is null and k.expires_at > kernel.now()
     for update`;

export const revokeLogin = (tx: Tx, org: string, keyId: string) =>
  run(tx)`update registry.registry_key set revoked_at = kernel.now() where org_id = ${org} and key_id = ${keyId}`;
