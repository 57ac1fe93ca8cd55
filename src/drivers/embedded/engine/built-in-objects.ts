import { apiService, builtInNamespaces, builtInRevision, builtInRoles, newNamespace } from '../rules/built-in.ts';
import { addressAt } from '../rules/kinds/service.ts';
import type { KubeObject } from '../rules/object.ts';
import { makeSpace, markPrepared, readSpace } from '../store/objects.ts';
import { addDefaultAccount } from './change.ts';
import type { Cluster } from './cluster.ts';
import { allocateAddresses } from './service-addresses.ts';
import { type WriteTransaction, writeObjects } from './write-transaction.ts';

/** Creates the built-in objects of a cluster in one transaction, all or none. Objects that exist stay unchanged. */
export async function createBuiltInObjects(cluster: Cluster): Promise<void> {
  const space = await cluster.app.db.read((tx) => readSpace(tx, cluster.id));
  if (space) Object.assign(cluster.figures, { objects: space.objects, bytes: space.bytes });
  if (space && space.prepared >= builtInRevision) return;
  if (!space) await cluster.app.db.write((tx) => makeSpace(tx, cluster.org, cluster.id));
  await writeObjects(cluster, async (transaction) => {
    for (const name of builtInNamespaces) {
      await putAbsent(transaction, 'namespaces', newNamespace(name));
      await addDefaultAccount(transaction, name);
    }
    for (const role of builtInRoles()) await putAbsent(transaction, `${role.kind.toLowerCase()}s.rbac.authorization.k8s.io`, role);
    await addApiService(transaction);
    await markPrepared(transaction.tx, cluster.id, builtInRevision);
  });
}

async function putAbsent(transaction: WriteTransaction, resource: string, object: KubeObject): Promise<boolean> {
  const { name, namespace = '' } = object.metadata;
  const key = { resource, namespace, name };
  if (await transaction.find(key)) return false;
  object.metadata.creationTimestamp = transaction.now;
  await transaction.put(key, object, undefined);
  return true;
}

async function addApiService(transaction: WriteTransaction): Promise<void> {
  const service = apiService(addressAt(1));
  if (await putAbsent(transaction, 'services', service))
    await allocateAddresses(transaction.tx, transaction.cluster, structuredClone(service), undefined);
}
