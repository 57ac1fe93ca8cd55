import type { App } from '../../../kernel/app.ts';
import type { Tx } from '../../../kernel/db.ts';
import type { Exported, Snapshot } from '../rules/export-families.ts';
import { addressOf } from '../rules/hidden.ts';
import { exportedOf } from '../store/exported.ts';
import { vantages } from '../store/observations.ts';

/** Everything of an organization that scrapers may read, at one moment. */
export async function snapshotOf(tx: Tx, app: App, org: string): Promise<Snapshot> {
  const names = await serviceNames(tx, app, org);
  const monitors = (await exportedOf(tx, org)).map(
    (m): Exported => ({
      id: m.id,
      name: m.name,
      service: m.service_id === null ? '' : (names.get(m.service_id) ?? ''),
      kind: m.kind,
      target: addressOf(m.target),
      enabled: m.enabled,
      intervalSeconds: m.interval_seconds,
      timeoutMs: m.timeout_ms,
      state: m.state,
      flapping: m.flapping,
      vantages: m.seen,
    }),
  );
  return { monitors, vantages: await vantages(tx) };
}

async function serviceNames(tx: Tx, app: App, org: string): Promise<ReadonlyMap<string, string>> {
  const catalog = app.ports.resources.find((r) => r.permission === 'uptime.service.read');
  return new Map((await catalog?.list(tx, org, '*'))?.map((s) => [s.id, s.name]));
}
