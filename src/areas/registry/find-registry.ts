import type { Permission } from '../../../contract/permissions.ts';
import type { Ctx } from '../../identity/context.ts';
import type { Tx } from '../../kernel/db.ts';
import { notFound } from '../../kernel/errors.ts';
import * as store from './store/registries.ts';

/** The registry of the acting organization, once the caller may do to it what the operation does: 404 before 403. */
export async function findRegistry(tx: Tx, ctx: Ctx, slug: string, permission?: Permission): Promise<store.RegistryRow> {
  const registry = (await store.registryBySlug(tx, ctx.org, slug)) ?? notFound('registry');
  ctx.require(registry.id, permission);
  return registry;
}
