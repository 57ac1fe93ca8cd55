import type { Tx } from '../../../../kernel/db/index.ts';
import { conflict, invalid } from '../../../../kernel/errors.ts';
import { hint, wake } from '../../../../kernel/jobs/index.ts';
import { freeAddress } from '../../rules/mesh/network.ts';
import type { MeshNode } from '../../rules/mesh/peers.ts';
import type { JoiningMachine } from '../../rules/mesh/request.ts';
import * as store from '../../store/mesh.ts';
import { meshDue } from '../channels.ts';

// A node's place in the mesh: a key and an address. The registration token gives a place to a machine that is not in the cluster yet; from then on
// only the node's own certificate changes the key.

/** How long a machine may take from the exchange to its certificate. Its place is given away afterwards. */
const joinSeconds = 3_600;

interface MeshCluster {
  id: string;
  org_id: string;
}

/** The mesh with its lock held. Undefined: it is off, or its interface is not there, and nodes join without it. */
async function lockWorkingMesh(tx: Tx, cluster: MeshCluster) {
  const mesh = await store.lockMesh(tx, cluster.id);
  return mesh?.network && mesh.problem === null ? { network: mesh.network, publicKey: mesh.public_key!, port: mesh.port! } : undefined;
}

export interface Admitted {
  network: string;
  hub: { publicKey: string; port: number };
  address: string;
}

/** A place for a machine that joins with a registration token. Undefined: it joins without the mesh. */
export async function admitMachine(tx: Tx, cluster: MeshCluster, { node, publicKey }: JoiningMachine): Promise<Admitted | undefined> {
  const mesh = await lockWorkingMesh(tx, cluster);
  if (!mesh) return undefined;
  await store.deleteStalePeers(tx, cluster.id, joinSeconds);
  const peers = await store.peersOf(tx, cluster.id);
  const known = peers.find((each) => each.node === node);
  if (known && known.public_key !== publicKey)
    return conflict(
      `the node ${node} has another key in the mesh; only its own certificate changes it. Deregister the node first, or join under another name`,
    );
  if (!known && (await store.isNodeCertified(tx, cluster.id, node)))
    return conflict(
      `the node ${node} is in the cluster without a key, and only its own certificate gives it one. Deregister the node first, or join under another name`,
    );
  refuseUsedKey(peers, mesh.publicKey, { node, publicKey });
  const address = known?.address ?? (await insertPeer(tx, cluster, mesh.network, peers, { node, publicKey, isConfirmed: false }));
  return { network: mesh.network, hub: { publicKey: mesh.publicKey, port: mesh.port }, address };
}

/** The key of a node that shows its certificate: a new place, or another key in the same one. False: there is no mesh for it to be in. */
export async function setNodeKey(tx: Tx, cluster: MeshCluster, { node, publicKey }: JoiningMachine): Promise<boolean> {
  const mesh = await lockWorkingMesh(tx, cluster);
  if (!mesh) return false;
  await store.deleteStalePeers(tx, cluster.id, joinSeconds);
  const peers = await store.peersOf(tx, cluster.id);
  const known = peers.find((each) => each.node === node);
  refuseUsedKey(peers, mesh.publicKey, { node, publicKey });
  if (!known) await insertPeer(tx, cluster, mesh.network, peers, { node, publicKey, isConfirmed: true });
  else if (known.public_key !== publicKey || !known.is_in) await store.changePeerKey(tx, cluster.id, node, publicKey);
  tellChange(tx, cluster);
  return true;
}

function refuseUsedKey(peers: readonly store.PeerRow[], hubKey: string, { node, publicKey }: JoiningMachine): void {
  if (publicKey === hubKey)
    invalid('wireguardPublicKey is the control plane’s own; send the key of this machine, as `wg pubkey` prints it');
  const other = peers.find((each) => each.public_key === publicKey && each.node !== node);
  if (other) conflict(`the key is that of the node ${other.node}; make one for each machine with \`wg genkey\``);
}

async function insertPeer(
  tx: Tx,
  cluster: MeshCluster,
  network: string,
  peers: readonly store.PeerRow[],
  peer: JoiningMachine & { isConfirmed: boolean },
): Promise<string> {
  const address =
    freeAddress(
      network,
      peers.map((each) => each.address),
    ) ?? conflict(`every address of the mesh ${network} is taken; deregister nodes that are gone`);
  await store.insertPeer(tx, { org: cluster.org_id, cluster: cluster.id, address, ...peer });
  tellChange(tx, cluster);
  return address;
}

/** In the transaction that refuses the node's certificates. True: it had a place. */
export async function dismissNode(tx: Tx, cluster: MeshCluster, node: string): Promise<boolean> {
  const isGone = (await store.deletePeer(tx, cluster.id, node)) > 0;
  if (isGone) tellChange(tx, cluster);
  return isGone;
}

function tellChange(tx: Tx, { id, org_id }: MeshCluster): void {
  hint(tx, org_id, 'clusters.node');
  wake(tx, meshDue(id));
}

/** Which of these are in the mesh now. */
export const nodesInMesh = (peers: readonly store.PeerRow[]): MeshNode[] =>
  peers
    .filter((each) => each.is_in)
    .map(({ node, address, public_key, endpoint, reached }) => ({
      node,
      address,
      publicKey: public_key,
      endpoint: endpoint ?? undefined,
      reached,
    }));
