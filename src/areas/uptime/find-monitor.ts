import type { Ctx } from '../../identity/context.ts';
import type { Tx } from '../../kernel/db.ts';
import { notFound } from '../../kernel/errors.ts';
import { shareService } from '../services/index.ts';
import type { MonitorRow } from './store/monitor-row.ts';
import * as store from './store/monitors.ts';

/** Reached by its own id or by its service's: 404 before 403. */
function require(ctx: Ctx, { id, service_id }: Pick<MonitorRow, 'id' | 'service_id'>) {
  if (ctx.visible !== '*' && service_id !== null && ctx.visible.has(service_id)) return;
  ctx.require(id);
}

export async function findMonitor(tx: Tx, ctx: Ctx, id: string): Promise<store.WatchedRow> {
  const monitor = (await store.monitorById(tx, ctx.org, id)) ?? notFound('monitor');
  require(ctx, monitor);
  return monitor;
}

/** The same, for whoever changes or deletes it. */
export async function lockMonitor(tx: Tx, ctx: Ctx, id: string): Promise<MonitorRow> {
  const monitor = (await store.lockMonitor(tx, ctx.org, id)) ?? notFound('monitor');
  require(ctx, monitor);
  return monitor;
}

/** A service that the caller may reach; it cannot be deleted until this transaction ends. */
export async function findService(tx: Tx, ctx: Ctx, id: string, what = 'service') {
  const service = (await shareService(tx, ctx.org, id)) ?? notFound(what);
  ctx.require(service.id);
  return service;
}
