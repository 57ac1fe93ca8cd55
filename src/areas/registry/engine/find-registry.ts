import type { Ctx } from '../../../identity/context.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { notFound } from '../../../kernel/errors.ts';
import { otherSpelling } from '../rules/upstreams.ts';
import * as store from '../store/registries.ts';
import { type RepositoryRow, repositoryByName } from '../store/repositories.ts';

/** A registry of the acting organization. 404 comes before 403: existence is checked before the caller's right. */
export async function findRegistry(tx: Tx, ctx: Ctx, slug: string, find = store.registryBySlug): Promise<store.RegistryRow> {
  const registry = (await find(tx, ctx.org, slug)) ?? notFound('registry');
  ctx.require(registry.id);
  return registry;
}

/** For an operation that adds something to the registry: it cannot be deleted until the transaction ends. */
export const shareRegistry = (tx: Tx, ctx: Ctx, slug: string) => findRegistry(tx, ctx, slug, store.shareRegistry);

/** For an operation that changes or deletes the registry. */
export const lockRegistry = (tx: Tx, ctx: Ctx, slug: string) => findRegistry(tx, ctx, slug, store.lockRegistry);

export async function findRepository(tx: Tx, ctx: Ctx, slug: string, name: string): Promise<RepositoryRow> {
  const registry = await findRegistry(tx, ctx, slug);
  return (await repositoryByName(tx, registry.id, name, otherSpelling(ctx.app.config.registry_upstreams, name))) ?? notFound('repository');
}
