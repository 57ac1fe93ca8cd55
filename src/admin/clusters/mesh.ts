import { enableMesh, listMeshes } from '../../areas/clusters/index.ts';
import { audit, operator } from '../../identity/audit.ts';
import { installation } from '../organization.ts';
import { type OutputOptions, printJson, printTable } from '../output.ts';
import type { Session } from '../session.ts';

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

export async function enableClusterMesh({ db }: Session, cluster: string): Promise<void> {
  const enabled = await db.write(async (tx) => {
    const found = await enableMesh(tx, cluster);
    await audit(tx, operator(installation), 'clusters.mesh.enable', { id: found.id }, { cluster: found.cluster });
    return found;
  });
  console.log(
    `the mesh of ${enabled.cluster} is on within 10 s; on each of its nodes \`curl -fsSL <server>/join.sh | sh -s -- --mesh\` puts it in`,
  );
}
