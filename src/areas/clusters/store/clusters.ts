import Type, { type Static } from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';
import { isVisible, sql, type Visible } from '../../../kernel/sql.ts';
import { phases } from '../rules/phases.ts';
import type { Spec } from '../rules/spec.ts';

const Text = Type.String();
const Maybe = Type.Union([Text, Type.Null()]);

const Datastore = Type.Object({
  mode: Type.Enum(['shared', 'dedicated'] as const),
  size: Type.Optional(Text),
  storageGiB: Type.Optional(Type.Integer()),
  replicas: Type.Optional(Type.Integer()),
  backups: Type.Optional(Type.Boolean()),
});

const ClusterRow = Type.Object({
  org_id: Text,
  id: Text,
  name: Text,
  driver: Text,
  tier: Text,
  version: Text,
  replicas: Type.Integer(),
  mesh: Type.Boolean(),
  datastore: Datastore,
  load_balancers: Type.Boolean(),
  generation: Type.Integer(),
  observed_generation: Type.Integer(),
  phase: Type.Enum([...phases]),
  phase_at: Text,
  reason: Maybe,
  change: Type.Union([Type.Object({ what: Text, since: Text }), Type.Null()]),
  port: Type.Union([Type.Integer(), Type.Null()]),
  endpoint: Maybe,
  failures: Type.Integer(),
  lease: Maybe,
  /** What keeps its objects, whatever its datastore is called: clusters from before are on kine. */
  store: Type.Enum(['kine', 'etcd'] as const),
  /** Which copy of its store is wanted. */
  store_generation: Type.Integer(),
  /** The data directory that has etcd's files; null: they are not made yet. */
  store_directory: Maybe,
  /** Services with an address of a load balancer. */
  balancers: Type.Array(Type.Object({ service: Text, ip: Text, problem: Maybe })),
  /** Whether a server holds it now, by the product's clock. */
  is_held: Type.Boolean(),
});
export type ClusterRow = Static<typeof ClusterRow>;

const columns = sql`org_id, id, name, driver, tier, version, replicas, mesh, datastore, load_balancers, generation, observed_generation,
  phase, phase_at, reason, change, port, endpoint, failures, lease, store, store_generation, store_directory, coalesce(lease_until > kernel.now(), false) as is_held,
  (select coalesce(jsonb_agg(jsonb_build_object('service', b.namespace || '/' || b.service, 'ip', host(b.address), 'problem', b.problem)
                             order by b.namespace, b.service, b.uid), '[]')
     from clusters.load_balancer b where b.cluster_id = cluster.id) as balancers`;

export const specOf = (row: ClusterRow): Spec => ({
  version: row.version,
  tier: row.tier,
  replicas: row.replicas,
  mesh: row.mesh,
  datastore: row.datastore,
  loadBalancers: row.load_balancers,
});

export const clustersOf = (tx: Tx, org: string, visible: Visible) => rows(tx, ClusterRow)`
  select ${columns} from clusters.cluster where org_id = ${org} and ${isVisible(visible, sql`id`)} order by name`;

const VersionRow = Type.Object({ version: Text });

/** Versions in use by an organization's clusters. */
export const versionsInUse = async (tx: Tx, org: string): Promise<string[]> =>
  (await rows(tx, VersionRow)`select distinct version from clusters.cluster where org_id = ${org}`).map(({ version }) => version);

const CountRow = Type.Object({ count: Type.Integer() });

/** Over all organizations. */
export const countOfVersion = async (tx: Tx, version: string): Promise<number> =>
  (await row(tx, CountRow)`select count(*)::int as count from clusters.cluster where version = ${version}`)!.count;

/** Process clusters; each holds its own database connections. */
export const countOwnPrograms = async (tx: Tx): Promise<number> =>
  (await row(tx, CountRow)`select count(*)::int as count from clusters.cluster where driver = 'process'`)!.count;

export const clusterByName = (tx: Tx, org: string, name: string) => row(tx, ClusterRow)`
  select ${columns} from clusters.cluster where org_id = ${org} and name = ${name}`;

export const lockCluster = (tx: Tx, org: string, name: string) => row(tx, ClusterRow)`
  select ${columns} from clusters.cluster where org_id = ${org} and name = ${name} for update`;

export const lockClusterById = (tx: Tx, id: string) =>
  row(tx, ClusterRow)`select ${columns} from clusters.cluster where id = ${id} for update`;

export const clusterById = (tx: Tx, id: string) => row(tx, ClusterRow)`select ${columns} from clusters.cluster where id = ${id}`;

const NamedRow = Type.Object({ id: Text, name: Text });
export const namedClusters = (tx: Tx, org: string, visible: Visible) => rows(tx, NamedRow)`
  select id, name from clusters.cluster where org_id = ${org} and ${isVisible(visible, sql`id`)} order by name`;

/** Counts under a lock that is held until the transaction ends: of two concurrent creations at the quota, one succeeds. */
export async function countClusters(tx: Tx, org: string): Promise<number> {
  await run(tx)`select pg_advisory_xact_lock(hashtext('clusters.cluster'), hashtext(${org}))`;
  return (await row(tx, Type.Object({ n: Type.Integer() }))`select count(*)::int as n from clusters.cluster where org_id = ${org}`)!.n;
}

/** Undefined: the name is taken. */
export const insertCluster = (tx: Tx, org: string, name: string, runs: { driver: string; store: 'kine' | 'etcd' }, spec: Spec) => row(
  tx,
  ClusterRow,
)`
  insert into clusters.cluster (org_id, id, name, driver, tier, version, replicas, mesh, datastore, load_balancers, store, phase, phase_at, created_at,
                                run_at)
  select ${org}, kernel.new_id('cls'), ${name}, ${runs.driver}, ${spec.tier}, ${spec.version}, ${spec.replicas}, ${spec.mesh},
         ${JSON.stringify(spec.datastore)}::jsonb, ${spec.loadBalancers}, ${runs.store}, 'pending', c.now, c.now, c.now
    from (select kernel.now() as now offset 0) c
  on conflict (org_id, name) do nothing returning ${columns}`;

/** Writes the next generation; the caller holds the row lock. */
export const changeCluster = async (tx: Tx, id: string, spec: Spec, what: string): Promise<ClusterRow> =>
  (await row(tx, ClusterRow)`
    update clusters.cluster
       set tier = ${spec.tier}, version = ${spec.version}, replicas = ${spec.replicas}, datastore = ${JSON.stringify(spec.datastore)}::jsonb,
           load_balancers = ${spec.loadBalancers}, generation = generation + 1, failures = 0, reason = null, run_at = kernel.now(),
           phase = case when observed_generation = 0 then 'provisioning' else 'updating' end, phase_at = kernel.now(),
           change = jsonb_build_object('what', ${what}::text, 'since', to_char(kernel.now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
     where id = ${id} returning ${columns}`)!;

export const markDeleting = (tx: Tx, id: string) => run(tx)`
  update clusters.cluster set phase = 'deleting', phase_at = kernel.now(), generation = generation + 1, failures = 0, reason = null,
         run_at = kernel.now() where id = ${id} and phase <> 'deleting'`;
