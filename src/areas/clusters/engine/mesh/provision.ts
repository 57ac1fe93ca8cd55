import { generateKeyPairSync } from 'node:crypto';
import { ClusterError } from '../../../../drivers/cluster-error.ts';
import type { App } from '../../../../kernel/app.ts';
import { freeNetwork } from '../../rules/mesh/network.ts';
import * as store from '../../store/mesh.ts';
import type { HeldLease } from '../../store/shards.ts';
import { portCount } from '../cluster-address.ts';

/** A mesh with everything that its control plane's interface needs. */
export interface ProvisionedMesh {
  network: string;
  publicKey: string;
  privateKey: string;
  port: number;
}

const sealContextOf = (cluster: string) => `clusters.mesh.private_key.${cluster}`;
/** Where the ports of clusters are chosen by the system, as in tests. */
const otherFirstPort = 51_820;

/** The mesh of a cluster, with its network, key and UDP port; they are chosen once. Undefined: it is not switched on, or the lease was lost. */
export async function ensureMesh(app: App, held: HeldLease): Promise<ProvisionedMesh | undefined> {
  const known = await app.db.read((tx) => store.meshOf(tx, held.id));
  if (!known) return undefined;
  if (known.network !== null) return unsealMesh(app, known);
  return app.db.write(async (tx) => {
    const taken = await store.takenByMeshes(tx);
    const { publicKey, privateKey } = newKeyPair();
    await store.setMeshParts(tx, held, {
      network: freeNetwork(app.config.cluster_mesh_network, taken.networks) ?? refuseFull(app.config.cluster_mesh_network),
      publicKey,
      privateKey: app.secrets.seal(privateKey, sealContextOf(held.id)),
      port: freePort(app.config.cluster_listen.port || otherFirstPort, taken.ports),
    });
    const made = await store.meshOf(tx, held.id);
    return made?.network ? unsealMesh(app, made) : undefined;
  });
}

const unsealMesh = (app: App, row: store.MeshRow): ProvisionedMesh => ({
  network: row.network!,
  publicKey: row.public_key!,
  privateKey: app.secrets.unseal(row.private_key!, sealContextOf(row.cluster_id)),
  port: row.port!,
});

/** In WireGuard's base64. */
function newKeyPair(): { publicKey: string; privateKey: string } {
  const { publicKey, privateKey } = generateKeyPairSync('x25519');
  const text = (part: string) => Buffer.from(part, 'base64url').toString('base64');
  return { publicKey: text(publicKey.export({ format: 'jwk' }).x!), privateKey: text(privateKey.export({ format: 'jwk' }).d!) };
}

function freePort(first: number, taken: readonly number[]): number {
  const used = new Set(taken);
  for (let port = first; port < first + portCount && port <= 65_535; port++) if (!used.has(port)) return port;
  throw new ClusterError(`all UDP ports for meshes from ${first} on are taken; the operator sets QUARTERDECK_CLUSTER_LISTEN`);
}

const refuseFull = (range: string): never => {
  throw new ClusterError(`all networks of ${range} are taken by meshes; the operator sets QUARTERDECK_CLUSTER_MESH_NETWORK`);
};
