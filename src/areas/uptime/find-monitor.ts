import type { Ctx } from '../../identity/context.ts';
import type { Tx } from '../../kernel/db.ts';
import { notFound } from '../../kernel/errors.ts';
import type { Visible } from '../../kernel/sql.ts';
import { shareService } from '../services/index.ts';
import type { MonitorRow } from './store/monitor-row.ts';
import * as store from './store/monitors.ts';

type Reached = Pick<MonitorRow, 'id' | 'service_id'>;

/** By its own id or by its service's. */
const reaches = (held: Visible | undefined, { id, service_id }: Reached): boolean =>
  held === '*' || Boolean(held?.has(id)) || (service_id !== null && Boolean(held?.has(service_id)));

/** 404 before 403. */
function require(ctx: Ctx, monitor: Reached) {
  if (!reaches(ctx.visible, monitor)) ctx.require(monitor.id);
}

/** Whether the caller may change this monitor, whatever it asks now. */
export const mayChange = (ctx: Ctx, monitor: Reached): boolean => reaches(ctx.reach('uptime.monitor.write'), monitor);

export async function findMonitor(tx: Tx, ctx: Ctx, id: string): Promise<store.WatchedRow> {
  const monitor = (await store.monitorById(tx, ctx.org, id)) ?? notFound('monitor');
  require(ctx, monitor);
  return monitor;
}

/** The same, for whoever changes or deletes it. */
export async function lockMonitor(tx: Tx, ctx: Ctx, id: string): Promise<store.LockedRow> {
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
