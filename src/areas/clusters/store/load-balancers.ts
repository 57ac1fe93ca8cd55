import Type, { type Static } from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';
import type { HeldLease } from './shards.ts';

const Text = Type.String();
const Maybe = Type.Union([Text, Type.Null()]);

// The operator's networks.

const PoolRow = Type.Object({ network: Text, added_at: Text, addresses: Type.Integer(), taken: Type.Integer() });
export type PoolRow = Static<typeof PoolRow>;

export const listPools = (tx: Tx) => rows(tx, PoolRow)`
  select p.network::text as network, p.added_at, (2 ^ (32 - masklen(p.network)))::int as addresses,
         (select count(*)::int from clusters.load_balancer l where l.address <<= p.network) as taken
    from clusters.address_pool p order by p.network`;

/** Pools and addresses change under this lock, so that no address is taken of a network that is being removed. */
const lockAddresses = (tx: Tx) => run(tx)`select pg_advisory_xact_lock(hashtext('clusters.address'))`;

const NetworkRow = Type.Object({ network: Text });

/** The networks of the pool that share addresses with this one. */
export async function overlappingPools(tx: Tx, network: string): Promise<string[]> {
  await lockAddresses(tx);
  return (
    await rows(tx, NetworkRow)`select network::text as network from clusters.address_pool where network && ${network}::cidr order by 1`
  ).map((each) => each.network);
}

export const countPools = async (tx: Tx): Promise<number> =>
  (await row(tx, Type.Object({ n: Type.Integer() }))`select count(*)::int as n from clusters.address_pool`)!.n;

export const poolNetworks = async (tx: Tx): Promise<string[]> =>
  (await rows(tx, NetworkRow)`select network::text as network from clusters.address_pool order by 1`).map(({ network }) => network);

export const insertPool = (tx: Tx, network: string) => run(tx)`
  insert into clusters.address_pool (network, added_at) values (${network}::cidr, kernel.now())`;

/** Undefined: it is no network of the pool. `taken`: its addresses that services have; the row is deleted only without any. */
export async function deletePool(tx: Tx, network: string): Promise<{ taken: number } | undefined> {
  await lockAddresses(tx);
  const found = (await listPools(tx)).find((each) => each.network === network);
  if (found?.taken === 0) await run(tx)`delete from clusters.address_pool where network = ${network}::cidr`;
  return found && { taken: found.taken };
}

// Addresses of services.

const BalancerRow = Type.Object({ uid: Text, namespace: Text, service: Text, address: Text, problem: Maybe });
export type BalancerRow = Static<typeof BalancerRow>;

export const balancersOf = (tx: Tx, cluster: string) => rows(tx, BalancerRow)`
  select uid, namespace, service, host(address) as address, problem from clusters.load_balancer
   where cluster_id = ${cluster} order by namespace, service, uid`;

const HolderRow = Type.Object({ org_id: Text, tier: Text, load_balancers: Type.Boolean(), phase: Text });

/** Locks the cluster's row, so that its tier and its switch stay as they are meanwhile. Undefined: the lease was lost. */
export const lockHeldCluster = (tx: Tx, { id, lease }: HeldLease) => row(tx, HolderRow)`
  select org_id, tier, load_balancers, phase from clusters.cluster where id = ${id} and lease = ${lease}::uuid for no key update`;

const FreeRow = Type.Object({ is_free: Type.Boolean() });

/** Whether the pool has the address and no service has it. */
export const isAddressFree = async (tx: Tx, address: string): Promise<boolean> =>
  (await row(tx, FreeRow)`
    select exists (select from clusters.address_pool where network >>= ${address}::inet)
       and not exists (select from clusters.load_balancer where address = ${address}::inet) as is_free`)!.is_free;

export interface NewBalancer {
  org: string;
  cluster: string;
  uid: string;
  namespace: string;
  service: string;
  /** The address that the service asks for. */
  wanted?: string | undefined;
}

const AddressRow = Type.Object({ address: Text });

/** The lowest free address, or the one asked for; a service that has one moves. Undefined: there is none, it is taken, or it is not of the pool. */
export async function takeAddress(tx: Tx, { org, cluster, uid, namespace, service, wanted }: NewBalancer): Promise<string | undefined> {
  await lockAddresses(tx);
  return (
    await row(tx, AddressRow)`
      insert into clusters.load_balancer (org_id, cluster_id, uid, namespace, service, address, taken_at)
      select ${org}, ${cluster}, ${uid}, ${namespace}, ${service}, free.address, kernel.now()
        from (select host(p.network + n)::inet as address
                from clusters.address_pool p cross join lateral generate_series(0, (2 ^ (32 - masklen(p.network)))::bigint - 1) n
               where (${wanted ?? null}::inet is null or host(p.network + n)::inet = ${wanted ?? null}::inet)
                 and not exists (select from clusters.load_balancer l where l.address = host(p.network + n)::inet)
               order by p.network, n limit 1) free
      on conflict (cluster_id, uid) do update set address = excluded.address, problem = null
      returning host(address) as address`
  )?.address;
}

/** Gives an address back. Its listener is closed before. */
export const releaseAddress = (tx: Tx, cluster: string, uid: string) => run(tx)`
  delete from clusters.load_balancer where cluster_id = ${cluster} and uid = ${uid}`;

export const noteBalancerProblem = (tx: Tx, cluster: string, uid: string, problem: string | null) => run(tx)`
  update clusters.load_balancer set problem = ${problem} where cluster_id = ${cluster} and uid = ${uid}`;

const ProblemRow = Type.Object({ cluster: Text, service: Text, address: Text, problem: Text });

/** Addresses whose listeners do not accept connections, of every organization. */
export const balancerProblems = (tx: Tx) => rows(tx, ProblemRow)`
  select c.name as cluster, l.namespace || '/' || l.service as service, host(l.address) as address, l.problem
    from clusters.load_balancer l join clusters.cluster c on c.id = l.cluster_id where l.problem is not null order by l.address limit 20`;
