import type { Permission } from '../../../contract/permissions.ts';
import type { Ctx } from '../../identity/context.ts';
import type { Tx } from '../../kernel/db.ts';
import { notFound } from '../../kernel/errors.ts';
import { findRegistry } from './find-registry.ts';
import { type RepositoryRow, repositoryByName } from './store/repositories.ts';

export async function findRepository(tx: Tx, ctx: Ctx, slug: string, name: string, permission?: Permission): Promise<RepositoryRow> {
  const registry = await findRegistry(tx, ctx, slug, permission);
  return (await repositoryByName(tx, registry.id, name)) ?? notFound('repository');
}
