import Type, { type Static } from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';

export interface NewAccess {
  org: string;
  cluster: string;
  user: string;
  token: string;
  secret: string;
}

/** Records that a user got a client configuration with this token. */
export async function recordAccess(tx: Tx, { org, cluster, user, token, secret }: NewAccess): Promise<void> {
  await run(tx)`
    insert into clusters.access (org_id, cluster_id, user_id, granted_at) values (${org}, ${cluster}, ${user}, kernel.now())
    on conflict (cluster_id, user_id) do update set granted_at = excluded.granted_at`;
  await run(tx)`
    insert into clusters.access_token (org_id, cluster_id, token_id, user_id, secret, granted_at)
    values (${org}, ${cluster}, ${token}, ${user}, ${secret}, kernel.now())
    on conflict (cluster_id, token_id) do update set granted_at = excluded.granted_at`;
}

const HolderRow = Type.Object({ org_id: Type.String(), token_id: Type.String(), user_id: Type.String() });

/** The Quarterdeck token that a Secret stands for. */
export const holderOfSecret = (tx: Tx, cluster: string, secret: string) => row(tx, HolderRow)`
  select org_id, token_id, user_id from clusters.access_token where cluster_id = ${cluster} and secret = ${secret}`;

const times = {
  granted_at: Type.String(),
  is_over: Type.Boolean(),
  is_settled: Type.Boolean(),
};
const AccessRow = Type.Object({ org_id: Type.String(), cluster_id: Type.String(), user_id: Type.String(), ...times });
export type AccessRow = Static<typeof AccessRow>;
const TokenAccessRow = Type.Object({ ...AccessRow.properties, token_id: Type.String(), secret: Type.String() });
export type TokenAccessRow = Static<typeof TokenAccessRow>;

export interface AccessAges {
  /** A configuration granted longer ago than this has expired. */
  expiredAfterSeconds: number;
  /** A request that recorded its row longer ago than this has finished. */
  settledAfterSeconds: number;
}

/** Users with a client configuration, one page at a time. */
export const listAccess = (tx: Tx, after: { cluster: string; id: string }, ages: AccessAges, limit: number) => rows(tx, AccessRow)`
  select org_id, cluster_id, user_id, granted_at, granted_at < kernel.now() - make_interval(secs => ${ages.expiredAfterSeconds}) as is_over,
         granted_at < kernel.now() - make_interval(secs => ${ages.settledAfterSeconds}) as is_settled
    from clusters.access where (cluster_id, user_id) > (${after.cluster}, ${after.id}) order by cluster_id, user_id limit ${limit}`;

/** Tokens with which a client configuration was fetched, one page at a time. */
export const listTokenAccess = (tx: Tx, after: { cluster: string; id: string }, ages: AccessAges, limit: number) => rows(
  tx,
  TokenAccessRow,
)`
  select org_id, cluster_id, user_id, token_id, secret, granted_at, granted_at < kernel.now() - make_interval(secs => ${ages.expiredAfterSeconds}) as is_over,
         granted_at < kernel.now() - make_interval(secs => ${ages.settledAfterSeconds}) as is_settled
    from clusters.access_token where (cluster_id, token_id) > (${after.cluster}, ${after.id}) order by cluster_id, token_id limit ${limit}`;

const SecretRow = Type.Object({
  org_id: Type.String(),
  cluster_id: Type.String(),
  token_id: Type.String(),
  secret: Type.String(),
  is_settled: Type.Boolean(),
});

/** Those of these Secrets that stand for a token whose configurations have not all expired. */
export const accessOfSecrets = (tx: Tx, asked: readonly { cluster: string; secret: string }[], ages: AccessAges) => rows(tx, SecretRow)`
  select org_id, cluster_id, token_id, secret, granted_at < kernel.now() - make_interval(secs => ${ages.settledAfterSeconds}) as is_settled
    from clusters.access_token
    join unnest(${asked.map(({ cluster }) => cluster)}::text[], ${asked.map(({ secret }) => secret)}::text[]) as asked (cluster_id, secret)
         using (cluster_id, secret)
   where granted_at >= kernel.now() - make_interval(secs => ${ages.expiredAfterSeconds})`;

/** Deletes nothing if the user got another one meanwhile: its row is needed for a later removal. */
export const deleteAccess = (tx: Tx, { cluster_id, user_id, granted_at }: AccessRow) => run(tx)`
  delete from clusters.access where cluster_id = ${cluster_id} and user_id = ${user_id} and granted_at = ${granted_at}`;

export const deleteTokenAccess = (tx: Tx, { cluster_id, token_id, granted_at }: TokenAccessRow) => run(tx)`
  delete from clusters.access_token where cluster_id = ${cluster_id} and token_id = ${token_id} and granted_at = ${granted_at}`;
