import type { Tx } from '../../../../kernel/db/index.ts';
import type { KubeObject } from '../../rules/kubernetes/object.ts';
import { type Compiled, compileRbac } from '../../rules/kubernetes/rbac.ts';
import { ApiError } from '../../rules/kubernetes/status.ts';
import { listObjects, readSpace, type SpaceRow } from '../../store/objects.ts';
import { type Cluster, limits } from './cluster.ts';

export async function requireSpace(tx: Tx, cluster: Cluster): Promise<SpaceRow> {
  const space = await readSpace(tx, cluster.id);
  if (!space) throw new ApiError(503, 'ServiceUnavailable', 'this cluster is being removed', {});
  return space;
}

const rbacKinds = ['clusterroles', 'clusterrolebindings', 'roles', 'rolebindings'];

/** Roles and bindings as they are: read again only if one of them changed since, whichever server changed it. `tx`: of a write that has changed
 *  none of them yet. */
export async function readRbac(cluster: Cluster, inside?: Tx): Promise<Compiled> {
  const read = async (tx: Tx) => {
    const space = await requireSpace(tx, cluster);
    if (cluster.rbac?.version === space.rbac_version) return cluster.rbac.compiled;
    const objects: KubeObject[] = [];
    for (const kind of rbacKinds) {
      const found = await listObjects(tx, cluster, {
        ...{ resource: `${kind}.rbac.authorization.k8s.io`, namespace: undefined, name: undefined, after: undefined },
        // Rules that add up others grow without being written, so there is room beyond what may be written.
        ...{ rows: 2 * limits.rbacObjects, bytes: 32 * limits.rbacBytes },
      });
      for (const row of found) objects.push(JSON.parse(row.body) as KubeObject);
    }
    // A change while they were read has a greater version, and they are read again.
    const compiled = compileRbac(objects);
    cluster.rbac = { version: space.rbac_version, compiled };
    return compiled;
  };
  return inside ? read(inside) : cluster.app.db.read(read);
}
