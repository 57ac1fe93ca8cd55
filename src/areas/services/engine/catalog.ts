import { audit } from '../../../identity/audit.ts';
import type { Ctx } from '../../../identity/context.ts';
import type { Tx } from '../../../kernel/db.ts';
import { conflict } from '../../../kernel/errors.ts';
import * as store from '../store/services.ts';

/** One act behind two doors: uptime's and on-call's. */
export async function createService(tx: Tx, ctx: Ctx, name: string): Promise<store.ServiceRow> {
  const service = (await store.insertService(tx, ctx.org, name)) ?? conflict(`a service named ${name} exists; choose another name`);
  await audit(tx, ctx, 'services.service.create', service, { name });
  return service;
}
