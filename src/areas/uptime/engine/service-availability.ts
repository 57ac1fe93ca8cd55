import type { Tx } from '../../../kernel/db/index.ts';
import { now } from '../../../kernel/time.ts';
import { availability, type Change, stateOf } from '../rules/availability.ts';
import * as store from '../store/availability.ts';

/** Availability of one service. Days and months are calendar ones in UTC, oldest first; those without a monitor are absent. */
export interface ServiceAvailability {
  /** `pending`: it has monitors, but none says anything yet. */
  state: 'up' | 'down' | 'pending';
  days: { date: string; watchedSeconds: number; downSeconds: number }[];
  months: { month: string; watchedSeconds: number; downSeconds: number }[];
}

/**
 * Availability of each of these services, also of those without a live monitor. `from`: changes before it are too many to read, and nothing
 * before it counts.
 */
export async function availabilityOf(tx: Tx, org: string, serviceIds: readonly string[], days: number) {
  const states = await store.statesOf(tx, org, serviceIds);
  const edges = await store.countedFrom(tx, org, serviceIds, store.maxChangesPerService(serviceIds.length));
  const changes = await store.changesOf(tx, org, serviceIds, edges);
  const work = await store.maintenanceWindows(tx, org, serviceIds);
  const at = Date.parse(await now(tx));
  const byService = new Map<string, Map<string, Change[]>>();
  for (const { service_id, monitor_id, since, to_state } of changes) {
    const monitors = byService.get(service_id) ?? new Map<string, Change[]>();
    byService.set(service_id, monitors);
    const its = monitors.get(monitor_id) ?? [];
    monitors.set(monitor_id, its);
    its.push({ since: Date.parse(since), to: to_state });
  }
  return new Map(
    serviceIds.map((id) => {
      const maintenance = work
        .filter((w) => w.service_id === id)
        .map((w): [number, number] => [Date.parse(w.starts_at), Date.parse(w.ends_at)]);
      const monitors = [...(byService.get(id)?.values() ?? [])];
      const from = edges.get(id);
      if (from) maintenance.push([0, Date.parse(from)]);
      const state = stateOf(states.filter((s) => s.service_id === id).map((s) => s.state));
      return [id, { state, ...(from ? { from } : {}), ...availability({ monitors, maintenance, now: at }, days) }];
    }),
  );
}

/** Availability of services over the last `days` days, and by month as far back as 400 days. Services without a live monitor are absent. */
export async function liveAvailabilityOf(
  tx: Tx,
  org: string,
  serviceIds: readonly string[],
  days: number,
): Promise<ReadonlyMap<string, ServiceAvailability>> {
  const found = new Map<string, ServiceAvailability>();
  for (const [id, { state, days: by, months }] of await availabilityOf(tx, org, serviceIds, days))
    if (state) found.set(id, { state, days: by, months });
  return found;
}
