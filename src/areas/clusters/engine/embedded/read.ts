import type { Tx } from '../../../../kernel/db/index.ts';
import { yieldToLoop } from '../../../../kernel/yielding.ts';
import type { KubeObject } from '../../rules/kubernetes/object.ts';
import { type CompiledRbac, compileRbac } from '../../rules/kubernetes/rbac.ts';
import { ApiError } from '../../rules/kubernetes/status.ts';
import { listObjects, listVersions, type ObjectRow, readObject, readSpace, type SpaceRow } from '../../store/objects.ts';
import { type CachedObject, type Cluster, limits } from './cluster.ts';

export async function requireSpace(tx: Tx, cluster: Cluster): Promise<SpaceRow> {
  const space = await readSpace(tx, cluster.id);
  if (!space) throw new ApiError(503, 'ServiceUnavailable', 'this cluster is being removed', {});
  return space;
}

const rbacKinds = ['clusterroles', 'clusterrolebindings', 'roles', 'rolebindings'];

/** Roles and bindings as they are: read again only if one of them changed since, whichever server changed it. `inside`: of a write that has changed
 *  none of them yet. */
export async function readRbac(cluster: Cluster, inside?: Tx): Promise<CompiledRbac> {
  if (inside) {
    const { rbac_version } = await requireSpace(inside, cluster);
    return cachedRbac(cluster, rbac_version) ?? refreshRbac(cluster, inside, rbac_version);
  }
  const { rbac_version: version } = await cluster.app.db.read((tx) => requireSpace(tx, cluster));
  const known = cachedRbac(cluster, version);
  if (known) return known;
  if (cluster.rbacLoading && cluster.rbacLoading.version >= version) return cluster.rbacLoading.compiled;
  // A hundred requests that find another version have it read once.
  const compiled = cluster.app.db.read((tx) => refreshRbac(cluster, tx, version));
  const reading = { version, compiled };
  cluster.rbacLoading = reading;
  const end = () => {
    if (cluster.rbacLoading === reading) cluster.rbacLoading = undefined;
  };
  compiled.then(end, end);
  return compiled;
}

const cachedRbac = ({ rbac }: Cluster, version: number) => (rbac && rbac.version >= version ? rbac.compiled : undefined);

/** Beyond so many, all of a kind are read. */
const maxSingleReads = 50;

/** What was read may be newer than `version`: a change meanwhile has a greater one, and they are looked at again. */
async function refreshRbac(cluster: Cluster, tx: Tx, version: number): Promise<CompiledRbac> {
  const before = cluster.rbacObjects;
  const objects = new Map<string, CachedObject>();
  for (const kind of rbacKinds) {
    const resource = `${kind}.rbac.authorization.k8s.io`;
    const keyOf = ({ namespace, name }: { namespace: string; name: string }) => `${kind} ${namespace}/${name}`;
    const changed: { namespace: string; name: string }[] = [];
    for (const item of await listVersions(tx, cluster.id, resource, 2 * limits.rbacObjects)) {
      const known = before.get(keyOf(item));
      if (known?.version === item.version) objects.set(keyOf(item), known);
      else changed.push(item);
    }
    for (const row of await readChanged(tx, cluster, resource, changed))
      objects.set(keyOf(row), { version: row.version, object: JSON.parse(row.body) as KubeObject });
    await yieldToLoop();
  }
  const compiled = compileRbac([...objects.values()].map(({ object }) => object));
  if (!cluster.rbac || cluster.rbac.version <= version) {
    cluster.rbac = { version, compiled };
    cluster.rbacObjects = objects;
  }
  return compiled;
}

async function readChanged(
  tx: Tx,
  cluster: Cluster,
  resource: string,
  changed: readonly { namespace: string; name: string }[],
): Promise<ObjectRow[]> {
  if (changed.length > maxSingleReads)
    return listObjects(tx, cluster, {
      ...{ resource, namespace: undefined, name: undefined, after: undefined },
      // Rules that add up others grow without being written, so there is room beyond what may be written.
      ...{ rows: 2 * limits.rbacObjects, bytes: 32 * limits.rbacBytes },
    });
  const found = await Promise.all(changed.map((item) => readObject(tx, cluster, { resource, ...item })));
  return found.filter((row) => row !== undefined);
}
