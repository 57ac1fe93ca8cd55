import { apiService, builtInNamespaces, builtInRoles, builtInSet, newNamespace } from '../../rules/kubernetes/built-in.ts';
import { addressAt } from '../../rules/kubernetes/kinds/service.ts';
import type { KubeObject } from '../../rules/kubernetes/object.ts';
import { makeSpace, markPrepared, readSpace } from '../../store/objects.ts';
import { allotAddresses } from './addresses.ts';
import { addDefaultAccount } from './change.ts';
import type { Cluster } from './cluster.ts';
import { type Writing, writeObjects } from './write.ts';

/** Gives a cluster what every cluster has. One transaction, so it has all of it or nothing; what is there already stays as it is. */
export async function prepareCluster(cluster: Cluster): Promise<void> {
  const space = await cluster.app.db.read((tx) => readSpace(tx, cluster.id));
  if (space) Object.assign(cluster.figures, { objects: space.objects, bytes: space.bytes });
  if (space && space.prepared >= builtInSet) return;
  if (!space) await cluster.app.db.write((tx) => makeSpace(tx, cluster.org, cluster.id));
  await writeObjects(cluster, async (writing) => {
    for (const name of builtInNamespaces) {
      await putAbsent(writing, 'namespaces', newNamespace(name));
      await addDefaultAccount(writing, name);
    }
    for (const role of builtInRoles()) await putAbsent(writing, `${role.kind.toLowerCase()}s.rbac.authorization.k8s.io`, role);
    await addApiService(writing);
    await markPrepared(writing.tx, cluster.id, builtInSet);
  });
}

async function putAbsent(writing: Writing, resource: string, object: KubeObject): Promise<boolean> {
  const { name, namespace = '' } = object.metadata;
  const place = { resource, namespace, name };
  if (await writing.find(place)) return false;
  object.metadata.creationTimestamp = writing.now;
  await writing.put(place, object, undefined);
  return true;
}

async function addApiService(writing: Writing): Promise<void> {
  const service = apiService(addressAt(1));
  if (await putAbsent(writing, 'services', service)) await allotAddresses(writing.tx, writing.cluster, structuredClone(service), undefined);
}
