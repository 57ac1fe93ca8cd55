import type { Ctx } from '../../identity/context.ts';
import type { Tx } from '../../kernel/db.ts';
import { notFound } from '../../kernel/errors.ts';
import { findRegistry } from './find-registry.ts';
import { type RepositoryRow, repositoryByName } from './store/repositories.ts';

export async function findRepository(tx: Tx, ctx: Ctx, slug: string, name: string): Promise<RepositoryRow> {
  const registry = await findRegistry(tx, ctx, slug);
  return (await repositoryByName(tx, registry.id, name)) ?? notFound('repository');
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
