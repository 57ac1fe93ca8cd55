import type { Ctx } from '../../../identity/context.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { notFound } from '../../../kernel/errors.ts';
import { otherSpelling } from '../rules/upstreams.ts';
import * as store from '../store/registries.ts';
import { type RepositoryRow, repositoryByName } from '../store/repositories.ts';

/** The registry of the acting organization, once the caller may do to it what the operation does: 404 before 403. */
export async function findRegistry(tx: Tx, ctx: Ctx, slug: string, find = store.registryBySlug): Promise<store.RegistryRow> {
  const registry = (await find(tx, ctx.org, slug)) ?? notFound('registry');
  ctx.require(registry.id);
  return registry;
}

/** The same for whoever makes something that belongs to it: it cannot be deleted before this transaction has ended. */
export const shareRegistry = (tx: Tx, ctx: Ctx, slug: string) => findRegistry(tx, ctx, slug, store.shareRegistry);

/** The same, for whoever changes or deletes it. */
export const lockRegistry = (tx: Tx, ctx: Ctx, slug: string) => findRegistry(tx, ctx, slug, store.lockRegistry);

export async function findRepository(tx: Tx, ctx: Ctx, slug: string, name: string): Promise<RepositoryRow> {
  const registry = await findRegistry(tx, ctx, slug);
  return (await repositoryByName(tx, registry.id, name, otherSpelling(ctx.app.config.registry_upstreams, name))) ?? notFound('repository');
}
