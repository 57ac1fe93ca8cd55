import type { Ask } from '../../../driver.ts';
import { fullStoreBinding, fullStorePolicy } from '../../rules/etcd/full-store.ts';

const policies = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies';
const bindings = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings';

/** A full store takes only what frees or holds it: the apiservers refuse all else. Safe to run again: a tenant may have changed the objects. */
export async function closeFullStore(ask: Ask, storageGiB: number): Promise<void> {
  const policy = fullStorePolicy(storageGiB);
  await replace(ask, policies, policy);
  await replace(ask, bindings, fullStoreBinding);
}

export async function openStore(ask: Ask): Promise<void> {
  await remove(ask, `${bindings}/${fullStoreBinding.metadata.name}`);
  await remove(ask, `${policies}/${fullStoreBinding.spec.policyName}`);
}

async function replace(ask: Ask, path: string, wanted: { metadata: { name: string } }): Promise<void> {
  const made = await ask('POST', path, wanted);
  if (made.status === 201) return;
  if (made.status !== 409) throw new Error(`${wanted.metadata.name} could not be made: ${made.status}`);
  const changed = await ask('PATCH', `${path}/${wanted.metadata.name}`, wanted);
  if (changed.status !== 200) throw new Error(`${wanted.metadata.name} could not be corrected: ${changed.status}`);
}

async function remove(ask: Ask, path: string): Promise<void> {
  const { status } = await ask('DELETE', path);
  if (status !== 200 && status !== 202 && status !== 404) throw new Error(`${path} could not be removed: ${status}`);
}
