import Type, { type Static } from 'typebox';
import { rows, run, type Tx } from '../../../kernel/db/index.ts';

export const noteAccess = (tx: Tx, org: string, cluster: string, user: string) => run(tx)`
  insert into clusters.access (org_id, cluster_id, user_id, granted_at) values (${org}, ${cluster}, ${user}, kernel.now())
  on conflict (cluster_id, user_id) do update set granted_at = excluded.granted_at`;

const AccessRow = Type.Object({
  org_id: Type.String(),
  cluster_id: Type.String(),
  user_id: Type.String(),
  granted_at: Type.String(),
  is_over: Type.Boolean(),
});
export type AccessRow = Static<typeof AccessRow>;

/** Everybody who was given a client configuration, a portion at a time; of those that have expired since `seconds` ago it is over. */
export const accessAfter = (tx: Tx, after: { cluster: string; user: string }, seconds: number, limit: number) => rows(tx, AccessRow)`
  select org_id, cluster_id, user_id, granted_at, granted_at < kernel.now() - make_interval(secs => ${seconds}) as is_over from clusters.access
   where (cluster_id, user_id) > (${after.cluster}, ${after.user}) order by cluster_id, user_id limit ${limit}`;

/** Not if they were given another one meanwhile: that one is to be ended too, in its time. */
export const deleteAccess = (tx: Tx, { cluster_id, user_id, granted_at }: AccessRow) => run(tx)`
  delete from clusters.access where cluster_id = ${cluster_id} and user_id = ${user_id} and granted_at = ${granted_at}`;
