import type { Tx } from '../../../kernel/db/index.ts';
import { yieldToLoop } from '../../../kernel/yielding.ts';
import { namedServices } from '../../services/index.ts';
import { addMonitor, families, type Snapshot } from '../rules/export-families.ts';
import { writePieces } from '../rules/export-text.ts';
import { addressOf } from '../rules/masked-target.ts';
import { type ExportedRow, exportedOf } from '../store/exported.ts';
import { vantages } from '../store/observations.ts';

/** Monitors per query: other work runs in between, on the event loop and in the database. */
export const pageSize = 100;

type Read = <T>(work: (tx: Tx) => Promise<T>) => Promise<T>;

/** Everything of an organization that scrapers may read, page by page; no connection is held between two pages. */
export async function gatherSnapshot(read: Read, org: string): Promise<Snapshot> {
  const snapshot: Snapshot = { monitors: [], series: [], vantages: await read(vantages) };
  let after = '';
  let found: ExportedRow[];
  do {
    found = await read((tx) => readPage(tx, org, after, snapshot));
    // Ids only grow, so monitors that are made meanwhile cannot keep the loop going for long.
    after = found.at(-1)?.id ?? after;
    await yieldToLoop();
  } while (found.length === pageSize);
  return snapshot;
}

async function readPage(tx: Tx, org: string, after: string, snapshot: Snapshot): Promise<ExportedRow[]> {
  const found = await exportedOf(tx, org, after, pageSize);
  const serviceIds = new Set(found.flatMap((m) => m.service_id ?? []));
  const names = serviceIds.size ? await namedServices(tx, org, [...serviceIds]) : new Map<string, string>();
  for (const m of found) {
    addMonitor(snapshot, {
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
    });
  }
  return found;
}

/** The text, one piece per turn of the event loop; the next is written when the scraper has taken the last. */
export async function* writeSnapshot(snapshot: Snapshot): AsyncGenerator<string> {
  for (const piece of writePieces(families(snapshot))) {
    yield piece;
    await yieldToLoop();
  }
}
