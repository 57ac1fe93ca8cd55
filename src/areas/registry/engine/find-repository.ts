import type { Ctx } from '../../../identity/context.ts';
import type { Tx } from '../../../kernel/db.ts';
import { conflict, notFound } from '../../../kernel/errors.ts';
import { findRegistry } from './find-registry.ts';
import { isImmutable } from '../rules/immutable.ts';
import { type RepositoryRow, repositoryByName } from '../store/repositories.ts';

export async function findRepository(tx: Tx, ctx: Ctx, slug: string, name: string): Promise<RepositoryRow> {
  const registry = await findRegistry(tx, ctx, slug);
  return (await repositoryByName(tx, registry.id, name)) ?? notFound('repository');
}

/** Whoever may change the registry's rules may free a tag; nobody else takes it away. */
export function refuseImmutable({ immutable_tags, name }: RepositoryRow, tags: readonly string[]) {
  const fixed = tags.find((tag) => isImmutable(immutable_tags, name, tag));
  if (fixed !== undefined) conflict(`the tag ${fixed} is immutable in this registry; change the registry's rules first`);
}

/** What other areas are told of something that goes. */
export const deletionOf = (r: RepositoryRow, by: string) => ({
  kind: 'delete' as const,
  org: r.org_id,
  registryId: r.registry_id,
  slug: r.slug,
  repository: r.name,
  by,
});
