import type { Tx } from '../../../kernel/db/index.ts';
import { listServices } from '../../services/index.ts';
import type { Exported, Snapshot } from '../rules/export-families.ts';
import { addressOf } from '../rules/hidden.ts';
import { exportedOf } from '../store/exported.ts';
import { vantages } from '../store/observations.ts';

/** Everything of an organization that scrapers may read, at one moment. */
export async function snapshotOf(tx: Tx, org: string): Promise<Snapshot> {
  const names = new Map((await listServices(tx, org, '*')).map((s) => [s.id, s.name]));
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
