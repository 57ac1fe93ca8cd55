import type { Ctx } from '../../../identity/context.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { notFound } from '../../../kernel/errors.ts';
import { serviceById, shareService } from '../../services/index.ts';

/** A service that the caller may reach; it cannot be deleted until this transaction ends. */
export async function findService(tx: Tx, ctx: Ctx, id: string, field = 'service') {
  const service = (await shareService(tx, ctx.org, id)) ?? notFound(field);
  ctx.require(service.id);
  return service;
}

/** A service that the caller may reach, for a view of it. */
export async function viewService(tx: Tx, ctx: Ctx, id: string) {
  const service = (await serviceById(tx, ctx.org, id)) ?? notFound('service');
  ctx.require(service.id);
  return service;
}
