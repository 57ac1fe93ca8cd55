import type { Ctx } from '../../../identity/context.ts';
import type { Tx } from '../../../kernel/db.ts';
import { notFound } from '../../../kernel/errors.ts';
import * as store from '../store/registries.ts';

/** The registry of the acting organization, once the caller may do to it what the operation does: 404 before 403. */
export async function findRegistry(tx: Tx, ctx: Ctx, slug: string, find = store.registryBySlug): Promise<store.RegistryRow> {
  const registry = (await find(tx, ctx.org, slug)) ?? notFound('registry');
  ctx.require(registry.id);
  return registry;
}

/** The same, and it stays until this transaction has ended. */
export const holdRegistry = (tx: Tx, ctx: Ctx, slug: string) => findRegistry(tx, ctx, slug, store.holdRegistry);

/** The same, for whoever changes or deletes it. */
export const lockRegistry = (tx: Tx, ctx: Ctx, slug: string) => findRegistry(tx, ctx, slug, store.lockRegistry);
