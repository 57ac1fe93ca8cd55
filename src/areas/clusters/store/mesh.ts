import Type, { type Static } from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';
import { sql } from '../../../kernel/sql.ts';
import type { HeldLease } from './shards.ts';

const Text = Type.String();
const Maybe = Type.Union([Text, Type.Null()]);
const Sealed = Type.Unsafe<Buffer>({});

const MeshRow = Type.Object({
  org_id: Text,
  cluster_id: Text,
  network: Maybe,
  public_key: Maybe,
  private_key: Type.Union([Sealed, Type.Null()]),
  port: Type.Union([Type.Integer(), Type.Null()]),
  problem: Maybe,
});
export type MeshRow = Static<typeof MeshRow>;
const columns = sql`org_id, cluster_id, network::text as network, public_key, private_key, port, problem`;

export const meshOf = (tx: Tx, cluster: string) => row(tx, MeshRow)`select ${columns} from clusters.mesh where cluster_id = ${cluster}`;

/** Until the transaction ends, no other one changes the mesh or its peers. */
export const lockMesh = (tx: Tx, cluster: string) => row(tx, MeshRow)`
  select ${columns} from clusters.mesh where cluster_id = ${cluster} for update`;

/** Switches the mesh on. False: it was on. */
export const insertMesh = async (tx: Tx, org: string, cluster: string): Promise<boolean> =>
  (await run(tx)`
    insert into clusters.mesh (org_id, cluster_id, enabled_at) values (${org}, ${cluster}, kernel.now()) on conflict do nothing`) > 0;

const TakenRow = Type.Object({ network: Maybe, port: Type.Union([Type.Integer(), Type.Null()]) });

/** Networks and UDP ports of all meshes, under a lock that is held until the transaction ends. */
export async function takenByMeshes(tx: Tx): Promise<{ networks: string[]; ports: number[] }> {
  await run(tx)`select pg_advisory_xact_lock(hashtext('clusters.mesh'))`;
  const found = await rows(tx, TakenRow)`select network::text as network, port from clusters.mesh`;
  return { networks: found.flatMap(({ network }) => network ?? []), ports: found.flatMap(({ port }) => port ?? []) };
}

export interface MeshParts {
  network: string;
  publicKey: string;
  privateKey: Buffer;
  port: number;
}

/** Once, by the holder of the cluster's lease. */
export const setMeshParts = (tx: Tx, { id, lease }: HeldLease, { network, publicKey, privateKey, port }: MeshParts) => run(tx)`
  update clusters.mesh set network = ${network}::cidr, public_key = ${publicKey}, private_key = ${privateKey}, port = ${port}
   where cluster_id = ${id} and network is null and exists (select from clusters.cluster c where c.id = ${id} and c.lease = ${lease}::uuid)`;

/** Why the interface is not there; null: it is. */
export const noteMeshProblem = (tx: Tx, { id, lease }: HeldLease, problem: string | null) => run(tx)`
  update clusters.mesh set problem = ${problem}
   where cluster_id = ${id} and problem is distinct from ${problem}
     and exists (select from clusters.cluster c where c.id = ${id} and c.lease = ${lease}::uuid)`;

// Nodes.

const PeerRow = Type.Object({
  node: Text,
  address: Text,
  public_key: Text,
  endpoint: Maybe,
  reached: Type.Array(Text),
  /** Confirmed, and it has a certificate of the cluster that is neither expired nor refused. */
  is_in: Type.Boolean(),
});
export type PeerRow = Static<typeof PeerRow>;

const isIn = sql`p.confirmed and exists (
  select from clusters.node_certificate n
   where n.cluster_id = p.cluster_id and n.node = p.node and n.refused_at is null and n.expires_at > kernel.now())`;

export const peersOf = (tx: Tx, cluster: string) => rows(tx, PeerRow)`
  select p.node, host(p.address) as address, p.public_key, p.endpoint, p.reached, ${isIn} as is_in
    from clusters.mesh_peer p where p.cluster_id = ${cluster} order by p.node`;

const OnePeerRow = Type.Object({ public_key: Text, reached: Type.Array(Text), is_in: Type.Boolean(), changed_ago: Type.Number() });

/** `changed_ago`: seconds since its key is this one. */
export const peerOf = (tx: Tx, cluster: string, node: string) => row(tx, OnePeerRow)`
  select p.public_key, p.reached, ${isIn} as is_in, extract(epoch from kernel.now() - p.joined_at)::float8 as changed_ago
    from clusters.mesh_peer p where p.cluster_id = ${cluster} and p.node = ${node}`;

/** Deletes peers whose nodes did not join within this time, or whose certificates have ended. */
export const deleteStalePeers = (tx: Tx, cluster: string, seconds: number) => run(tx)`
  delete from clusters.mesh_peer p
   where p.cluster_id = ${cluster} and p.joined_at < kernel.now() - make_interval(secs => ${seconds}) and not (${isIn})`;

export interface NewPeer {
  org: string;
  cluster: string;
  node: string;
  address: string;
  publicKey: string;
  /** By the node's certificate. */
  isConfirmed: boolean;
}

/** The unique indexes are the last word on addresses and keys. */
export const insertPeer = (tx: Tx, { org, cluster, node, address, publicKey, isConfirmed }: NewPeer) => run(tx)`
  insert into clusters.mesh_peer (org_id, cluster_id, node, address, public_key, confirmed, joined_at)
  values (${org}, ${cluster}, ${node}, ${address}::inet, ${publicKey}, ${isConfirmed}, kernel.now())`;

export const changePeerKey = (tx: Tx, cluster: string, node: string, publicKey: string) => run(tx)`
  update clusters.mesh_peer set public_key = ${publicKey}, confirmed = true, joined_at = kernel.now(), endpoint = null, reached = '{}'
   where cluster_id = ${cluster} and node = ${node}`;

/**
 * A join token was used for a certificate of this node. If it was made for the machine that has the place, the place is confirmed; else another
 * machine has taken the name, and the place is given away.
 */
export async function confirmPeer(tx: Tx, cluster: string, node: string, token: string): Promise<void> {
  const isSame = sql`exists (select from clusters.join_token t where t.cluster_id = ${cluster} and t.id = ${token} and t.node = ${node})`;
  await run(tx)`
    update clusters.mesh_peer set confirmed = true where cluster_id = ${cluster} and node = ${node} and not confirmed and ${isSame}`;
  await run(tx)`delete from clusters.mesh_peer where cluster_id = ${cluster} and node = ${node} and not confirmed`;
}

export const deletePeer = (tx: Tx, cluster: string, node: string) => run(tx)`
  delete from clusters.mesh_peer where cluster_id = ${cluster} and node = ${node}`;

/** False: the node has said the same before. */
export const noteReached = async (tx: Tx, cluster: string, node: string, reached: readonly string[]): Promise<boolean> =>
  (await run(tx)`
    update clusters.mesh_peer set reached = ${reached}::text[]
     where cluster_id = ${cluster} and node = ${node} and reached is distinct from ${reached}::text[]`) > 0;

/** `endpoints`: where the control plane sees each key. */
export const noteEndpoints = (tx: Tx, cluster: string, endpoints: ReadonlyMap<string, string>) => run(tx)`
  update clusters.mesh_peer p set endpoint = seen.endpoint
    from unnest(${[...endpoints.keys()]}::text[], ${[...endpoints.values()]}::text[]) as seen (public_key, endpoint)
   where p.cluster_id = ${cluster} and p.public_key = seen.public_key and p.endpoint is distinct from seen.endpoint`;

const AddressRow = Type.Object({ address: Text });

/** Those of these names that are addresses of other nodes in the mesh, whatever a node reports of itself. */
export const meshAddressesOfOthers = async (tx: Tx, cluster: string, node: string, names: readonly string[]): Promise<string[]> =>
  (
    await rows(tx, AddressRow)`
    select host(address) as address from clusters.mesh_peer
     where cluster_id = ${cluster} and node <> ${node} and host(address) = any(${names}::text[])`
  ).map(({ address }) => address);

const LiveRow = Type.Object({ is_live: Type.Boolean() });

/** Whether a node of this name has a certificate that is neither expired nor refused. */
export const isNodeCertified = async (tx: Tx, cluster: string, node: string): Promise<boolean> =>
  (await row(tx, LiveRow)`
    select exists (select from clusters.node_certificate
                    where cluster_id = ${cluster} and node = ${node} and refused_at is null and expires_at > kernel.now()) as is_live`)!
    .is_live;

const ProblemRow = Type.Object({ cluster: Text, problem: Text });

/** Meshes whose interface is not there, of every organization. */
export const meshProblems = (tx: Tx) => rows(tx, ProblemRow)`
  select c.name as cluster, m.problem from clusters.mesh m join clusters.cluster c on c.id = m.cluster_id
   where m.problem is not null order by c.name limit 20`;

const ListedRow = Type.Object({
  id: Text,
  cluster: Text,
  organization: Text,
  on: Type.Boolean(),
  network: Maybe,
  nodes: Type.Integer(),
  problem: Maybe,
});

/** Clusters that asked for a mesh, of every organization. `which`: the id, or the name, of some. */
export const listMeshes = (tx: Tx, which: string | null) => rows(tx, ListedRow)`
  select c.id, c.name as cluster, c.org_id as organization, m.cluster_id is not null as on, m.network::text as network, m.problem,
         (select count(*)::int from clusters.mesh_peer p where p.cluster_id = c.id) as nodes
    from clusters.cluster c left join clusters.mesh m on m.cluster_id = c.id
   where c.mesh and c.driver = 'process' and c.phase <> 'deleting' and (${which}::text is null or c.id = ${which} or c.name = ${which})
   order by c.name, c.id`;
