import Type from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';
import type { HeldLease } from './shards.ts';

const Text = Type.String();
const Maybe = Type.Union([Text, Type.Null()]);

const AddonsRow = Type.Object({ version: Maybe, problem: Maybe });

/** Undefined: the cluster gets none. */
export const addonsOf = (tx: Tx, cluster: string) => row(tx, AddonsRow)`
  select version, problem from clusters.addons where cluster_id = ${cluster}`;

/** From now on the cluster gets them. False: it does already. */
export const insertAddons = async (tx: Tx, org: string, cluster: string): Promise<boolean> =>
  (await run(tx)`
    insert into clusters.addons (org_id, cluster_id, enabled_at) values (${org}, ${cluster}, kernel.now()) on conflict do nothing`) > 0;

/** They are there, and of this version. */
export const noteAddons = (tx: Tx, { id, lease }: HeldLease, version: string) => run(tx)`
  update clusters.addons set version = ${version}, problem = null
   where cluster_id = ${id} and exists (select from clusters.cluster c where c.id = ${id} and c.lease = ${lease}::uuid)`;

export const noteAddonsProblem = (tx: Tx, { id, lease }: HeldLease, problem: string) => run(tx)`
  update clusters.addons set problem = ${problem}
   where cluster_id = ${id} and problem is distinct from ${problem}
     and exists (select from clusters.cluster c where c.id = ${id} and c.lease = ${lease}::uuid)`;

const ListedRow = Type.Object({ id: Text, cluster: Text, organization: Text, on: Type.Boolean(), version: Maybe, problem: Maybe });

/** Clusters of programs, of every organization. `which`: the id, or the name, of some. */
export const listAddons = (tx: Tx, which: string | null) => rows(tx, ListedRow)`
  select c.id, c.name as cluster, c.org_id as organization, a.cluster_id is not null as on, a.version, a.problem
    from clusters.cluster c left join clusters.addons a on a.cluster_id = c.id
   where c.driver = 'process' and c.phase <> 'deleting' and (${which}::text is null or c.id = ${which} or c.name = ${which})
   order by c.name, c.id`;
