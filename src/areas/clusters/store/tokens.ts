import Type, { type Static } from 'typebox';
import type { Entitlement } from '../../../../contract/common.ts';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';
import { sql } from '../../../kernel/sql.ts';

const Maybe = Type.Union([Type.String(), Type.Null()]);
const RegistrationRow = Type.Object({
  id: Type.String(),
  cluster_id: Type.String(),
  name: Type.String(),
  created_at: Type.String(),
  expires_at: Maybe,
  last_used_at: Maybe,
  disabled: Type.Boolean(),
});
export type RegistrationRow = Static<typeof RegistrationRow>;
const columns = sql`id, cluster_id, name, created_at, expires_at, last_used_at, disabled`;

export const registrationsOf = (tx: Tx, org: string, cluster: string) => rows(tx, RegistrationRow)`
  select ${columns} from clusters.registration_token where org_id = ${org} and cluster_id = ${cluster} order by id desc`;

export const countRegistrations = async (tx: Tx, cluster: string): Promise<number> => {
  await run(tx)`select pg_advisory_xact_lock(hashtext('clusters.registration'), hashtext(${cluster}))`;
  return (await row(tx, Type.Object({ n: Type.Integer() }))`
    select count(*)::int as n from clusters.registration_token where cluster_id = ${cluster}`)!.n;
};

export interface NewRegistration {
  cluster: string;
  name: string;
  hash: Buffer;
  /** Undefined: valid until it is revoked. */
  expiresIn: number | undefined;
}

export const insertRegistration = async (tx: Tx, org: string, made: NewRegistration): Promise<RegistrationRow> =>
  (await row(tx, RegistrationRow)`
    insert into clusters.registration_token (org_id, id, cluster_id, name, hash, created_at, expires_at)
    select ${org}, kernel.new_id('nrt'), ${made.cluster}, ${made.name}, ${made.hash}, c.now, c.now + make_interval(secs => ${made.expiresIn ?? null}::int)
      from (select kernel.now() as now offset 0) c returning ${columns}`)!;

export const disableRegistration = (tx: Tx, org: string, cluster: string, id: string, disabled: boolean) => row(tx, RegistrationRow)`
  update clusters.registration_token set disabled = ${disabled} where org_id = ${org} and cluster_id = ${cluster} and id = ${id} returning ${columns}`;

export const deleteRegistration = (tx: Tx, org: string, cluster: string, id: string) => row(tx, RegistrationRow)`
  delete from clusters.registration_token where org_id = ${org} and cluster_id = ${cluster} and id = ${id} returning ${columns}`;

const CredentialRow = Type.Object({
  org_id: Type.String(),
  id: Type.String(),
  cluster_id: Type.String(),
  name: Type.String(),
  disabled: Type.Boolean(),
  ttl_ms: Type.Union([Type.Number(), Type.Null()]),
});

export const registrationByHash = (tx: Tx, hash: Buffer) => row(tx, CredentialRow)`
  select org_id, id, cluster_id, name, disabled, (extract(epoch from expires_at - kernel.now()) * 1000)::float8 as ttl_ms
    from clusters.registration_token where hash = ${hash}`;

const OrgRow = Type.Object({ slug: Type.String(), entitlements: Type.Array(Type.Unsafe<Entitlement>({ type: 'string' })) });

/** A separate query, not a join: the organization belongs to another schema. */
export const organizationOf = async (tx: Tx, org: string) =>
  (await row(tx, OrgRow)`select slug, entitlements from identity.org where id = ${org}`)!;

/** Locks the row until the transaction ends: a concurrent disable waits until the join token is recorded. Undefined: no longer valid. */
export const useRegistration = (tx: Tx, id: string) => row(tx, RegistrationRow)`
  update clusters.registration_token set last_used_at = kernel.now()
   where id = ${id} and not disabled and (expires_at is null or expires_at > kernel.now()) returning ${columns}`;

const NewTokenRow = Type.Object({ id: Type.String(), expires_at: Type.String() });

/** Undefined: the id is taken; the caller tries another. */
export const insertJoinToken = (
  tx: Tx,
  org: string,
  made: { cluster: string; id: string; seconds: number; registration: string | undefined; node: string | undefined },
) => row(tx, NewTokenRow)`
  insert into clusters.join_token (org_id, cluster_id, id, created_at, expires_at, registration_id, node)
  select ${org}, ${made.cluster}, ${made.id}, c.now, c.now + make_interval(secs => ${made.seconds}), ${made.registration ?? null}, ${made.node ?? null}
    from (select kernel.now() as now offset 0) c
  on conflict do nothing returning id, expires_at`;

/** Unused and unexpired tokens, counted under a lock before another is created. */
export const countOpenJoinTokens = async (tx: Tx, cluster: string): Promise<number> => {
  await run(tx)`select pg_advisory_xact_lock(hashtext('clusters.join_token'), hashtext(${cluster}))`;
  return (await row(tx, Type.Object({ n: Type.Integer() }))`
    select count(*)::int as n from clusters.join_token where cluster_id = ${cluster} and used_at is null and expires_at > kernel.now()`)!.n;
};

const UsedRow = Type.Object({ request_uid: Maybe, used_by: Maybe, registration_id: Maybe });

/**
 * Consumes a join token for one certificate request. Repeated calls for the same request return true, so a crash between consuming and approving
 * loses nothing. A token whose registration token was disabled or revoked since is refused, and so is one that was made for another
 * node.
 */
export async function takeJoinToken(tx: Tx, made: { cluster: string; id: string; request: string; node: string }): Promise<boolean> {
  const taken = await row(tx, UsedRow)`
    update clusters.join_token t set used_at = coalesce(t.used_at, kernel.now()), request_uid = ${made.request}, used_by = ${made.node}
     where t.cluster_id = ${made.cluster} and t.id = ${made.id} and coalesce(t.node, ${made.node}) = ${made.node} and (t.request_uid = ${made.request} or (t.used_at is null and t.expires_at > kernel.now()
       and (t.registration_id is null or exists (select from clusters.registration_token r where r.id = t.registration_id and not r.disabled))))
    returning t.request_uid, t.used_by, t.registration_id`;
  return taken !== undefined;
}

const OldRow = Type.Object({ cluster_id: Type.String(), id: Type.String() });

/** Expired tokens, and tokens used more than two minutes ago, whose nodes have their certificates by now. */
export const oldJoinTokens = (tx: Tx, cluster: string, limit: number) => rows(tx, OldRow)`
  select cluster_id, id from clusters.join_token
   where cluster_id = ${cluster} and (expires_at <= kernel.now() or used_at <= kernel.now() - interval '2 minutes') limit ${limit}`;

export const deleteJoinTokens = (tx: Tx, cluster: string, ids: readonly string[]) => run(tx)`
  delete from clusters.join_token where cluster_id = ${cluster} and id = any(${ids}::text[])`;
