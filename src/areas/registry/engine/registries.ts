import type { Caches } from '../../../kernel/cache.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { conflict } from '../../../kernel/errors.ts';
import { topics } from '../rules/topics.ts';
import { isRegistryLimitReached, maxRegistriesPerOrg } from '../store/limits.ts';
import * as store from '../store/registries.ts';
import { removeKeys } from './credentials/keys.ts';

export async function createRegistry(tx: Tx, org: string, wanted: store.NewRegistry): Promise<store.RegistryRow> {
  if (await isRegistryLimitReached(tx, org))
    conflict(`the organization has ${maxRegistriesPerOrg} registries, which is the most; delete one first`);
  return (
    (await store.insertRegistry(tx, org, wanted)) ??
    conflict(`the slug ${wanted.slug} is taken; slugs are unique everywhere, choose another one`)
  );
}

/** Changes a registry; the caller holds its row lock. Every process reloads its rules. */
export async function changeRegistry(
  tx: Tx,
  caches: Caches,
  org: string,
  changed: Parameters<typeof store.updateRegistry>[2],
): Promise<store.RegistryRow> {
  const registry = await store.updateRegistry(tx, org, changed);
  await caches.drop(tx, topics.registry(registry.id));
  return registry;
}

/** Deletes a registry. The caller's row lock keeps a concurrent push from creating a repository. */
export async function deleteRegistry(tx: Tx, caches: Caches, org: string, { id, slug }: store.RegistryRow): Promise<void> {
  const repositories = await store.repositoryCount(tx, id);
  if (repositories)
    conflict(`the registry ${slug} has ${repositories} ${repositories === 1 ? 'repository' : 'repositories'}; delete them first`);
  await store.deleteRegistry(tx, org, id);
  await removeKeys(tx, org, id);
  await caches.drop(tx, topics.registry(id));
}
