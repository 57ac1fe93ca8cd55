import type { App } from '../../../../kernel/app.ts';
import { forbidden, notFound, Refusal } from '../../../../kernel/errors.ts';
import { wake } from '../../../../kernel/jobs/index.ts';
import type { MeshView } from '../../rules/mesh/peers.ts';
import type { PeerRequest } from '../../rules/mesh/request.ts';
import { noteReached, peerOf } from '../../store/mesh.ts';
import { isCertificateRefused, lockNode } from '../../store/nodes.ts';
import { meshDue } from '../channels.ts';
import { setNodeKey } from './admit.ts';
import type { RunningMesh } from './index.ts';

/** A node that shows its certificate. */
export interface AskingNode extends PeerRequest {
  node: string;
  /** Its fingerprint. */
  certificate: string;
}

/** A key changes at most this often: each change is told to every other node. */
const keyChangeSeconds = 60;

/** The node's peers once they are others than it has; undefined: there was no news in time. Its key is written first, if it is a new one. */
export async function askForPeers(
  app: App,
  mesh: RunningMesh,
  cluster: { id: string; org_id: string },
  { node, certificate, publicKey, revision, reached }: AskingNode,
  signal: AbortSignal,
): Promise<MeshView | undefined> {
  const peer = await app.db.read(async (tx) => {
    if (await isCertificateRefused(tx, cluster.id, certificate)) refuseRemoved(node);
    return peerOf(tx, cluster.id, node);
  });
  if (!peer?.is_in || peer.public_key !== publicKey) {
    if (peer?.is_in && peer.changed_ago < keyChangeSeconds) throw tooManyKeys();
    await app.db.write(async (tx) => {
      // Again, under the lock of a deregistration: one that came between would leave a key that keeps the node from joining anew.
      await lockNode(tx, cluster.id, node);
      if (await isCertificateRefused(tx, cluster.id, certificate)) refuseRemoved(node);
      if (!(await setNodeKey(tx, cluster, { node, publicKey }))) notFound('mesh of this cluster');
    });
    mesh.poke();
  } else if (peer.reached.join() !== reached.join()) {
    await app.db.write(async (tx) => {
      if (await noteReached(tx, cluster.id, node, reached)) wake(tx, meshDue(cluster.id));
    });
  }
  return mesh.follow(node, revision, signal);
}

const refuseRemoved = (node: string) => forbidden(`the node ${node} was deregistered; join again to get another certificate`);

const tooManyKeys = () =>
  new Refusal(429, 'rate_limited', `the key of this node has just changed; change it again in ${keyChangeSeconds} seconds`, {
    headers: { 'retry-after': String(keyChangeSeconds) },
  });
