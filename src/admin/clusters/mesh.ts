import { enableMesh, listMeshes } from '../../areas/clusters/index.ts';
import { type OutputOptions, printJson, printTable } from '../output.ts';
import type { Session } from '../session.ts';
import { actOnCluster } from './act.ts';

export async function listClusterMeshes({ db }: Session, options: OutputOptions): Promise<void> {
  const found = await db.read(listMeshes);
  if (options.json) return printJson({ meshes: found });
  printTable(
    found.map(({ cluster, id, on, network, nodes, problem }) => ({
      cluster,
      id,
      mesh: on ? 'on' : 'off',
      network: network ?? '',
      nodes,
      problem: problem ?? '',
    })),
    'no cluster of programs asked for a mesh',
  );
}

export async function enableClusterMesh(session: Session, cluster: string): Promise<void> {
  const enabled = await actOnCluster(session, 'clusters.mesh.enable', (tx) => enableMesh(tx, cluster));
  console.log(
    `the mesh of ${enabled.cluster} is on within 10 s; on each of its nodes \`curl -fsSL <server>/join.sh | sh -s -- --mesh\` puts it in`,
  );
}
