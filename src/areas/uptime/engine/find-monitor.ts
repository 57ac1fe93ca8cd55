import type { Ctx } from '../../../identity/context.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { notFound } from '../../../kernel/errors.ts';
import { serviceById, shareService } from '../../services/index.ts';
import { reachesMonitor } from '../rules/reach.ts';
import * as store from '../store/monitors.ts';

/** Called after the monitor was found: 404 comes before 403. */
function requireReach(ctx: Ctx, monitor: { id: string; service_id: string | null }) {
  if (!reachesMonitor(ctx.visible, monitor)) ctx.require(monitor.id);
}

export async function findMonitor(tx: Tx, ctx: Ctx, id: string): Promise<store.WatchedRow> {
  const monitor = (await store.monitorById(tx, ctx.org, id)) ?? notFound('monitor');
  requireReach(ctx, monitor);
  return monitor;
}

/** The same with the row locked, for an update or a delete. */
export async function lockMonitor(tx: Tx, ctx: Ctx, id: string): Promise<store.LockedRow> {
  const monitor = (await store.lockMonitor(tx, ctx.org, id)) ?? notFound('monitor');
  requireReach(ctx, monitor);
  return monitor;
}

/** A service that the caller may reach; it cannot be deleted until this transaction ends. */
export async function findService(tx: Tx, ctx: Ctx, id: string, what = 'service') {
  const service = (await shareService(tx, ctx.org, id)) ?? notFound(what);
  ctx.require(service.id);
  return service;
}

/** A service that the caller may reach, for a view of it. */
export async function viewService(tx: Tx, ctx: Ctx, id: string) {
  const service = (await serviceById(tx, ctx.org, id)) ?? notFound('service');
  ctx.require(service.id);
  return service;
}
