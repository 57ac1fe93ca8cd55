import type { Tx } from '../../../kernel/db/index.ts';
import { yieldToLoop } from '../../../kernel/yielding.ts';
import { ApiError } from '../../status.ts';
import type { KubeObject } from '../rules/object.ts';
import { type CompiledRbac, compileRbac } from '../rules/rbac.ts';
import { listObjects, listVersions, type ObjectRow, readObject, readSpace, type SpaceRow } from '../store/objects.ts';
import { type CachedObject, type Cluster, limits } from './cluster.ts';

export async function requireSpace(tx: Tx, cluster: Cluster): Promise<SpaceRow> {
  const space = await readSpace(tx, cluster.id);
  if (!space) throw new ApiError(503, 'ServiceUnavailable', 'this cluster is being removed', {});
  return space;
}

const rbacKinds = ['clusterroles', 'clusterrolebindings', 'roles', 'rolebindings'];

/**
 * The compiled roles and bindings. They are read again only after one of them changed, on this server or another. `inside`: a write's
 * transaction that has not changed any of them yet.
 */
export async function readRbac(cluster: Cluster, inside?: Tx): Promise<CompiledRbac> {
  if (inside) {
    const { rbac_version } = await requireSpace(inside, cluster);
    return cachedRbac(cluster, rbac_version) ?? refreshRbac(cluster, inside, rbac_version);
  }
  const { rbac_version: version } = await cluster.app.db.read((tx) => requireSpace(tx, cluster));
  const known = cachedRbac(cluster, version);
  if (known) return known;
  if (cluster.rbacLoading && cluster.rbacLoading.version >= version) return cluster.rbacLoading.compiled;
  // Concurrent requests that find a newer version share one load.
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

/** Above this number of changed objects, all objects of the kind are read in one statement. */
const maxSingleReads = 50;

/** The rows may be newer than `version`. A concurrent change has a higher version, which triggers another load. */
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
      resource,
      namespace: undefined,
      name: undefined,
      after: undefined,
      // Aggregated rules grow without being written, so the read limit is above the write limit.
      rows: 2 * limits.rbacObjects,
      bytes: 32 * limits.rbacBytes,
    });
  const found = await Promise.all(changed.map((item) => readObject(tx, cluster, { resource, ...item })));
  return found.filter((row) => row !== undefined);
}
