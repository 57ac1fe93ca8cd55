import type { Down, Failing, Full, Step } from '../../../../../contract/overview.ts';
import type { Tx } from '../../../../kernel/db/index.ts';
import { countAll, fullness, maxListed, type OverviewPart, type OverviewSource, type Reader } from '../../../ports.ts';
import { namedServices } from '../../../services/index.ts';
import { vantages } from '../../store/observations.ts';
import * as store from '../../store/ports/overview.ts';

export const uptimeOverview: OverviewSource = {
  entitlement: 'uptime',
  async read(tx, reader) {
    const [down, failing, quota] = await Promise.all([readDown(tx, reader), readVantages(tx, reader), readQuota(tx, reader)]);
    return { ...(down ? { down } : {}), ...(failing ? { failing } : {}), ...quota };
  },
};

async function readDown(tx: Tx, { org, reach }: Reader): Promise<OverviewPart['down']> {
  const visible = reach('uptime.monitor.read');
  if (visible === undefined) return undefined;
  const found = await store.monitorsDown(tx, org, visible, maxListed);
  const names = await namesOfServices(
    tx,
    { org, reach },
    found.flatMap(({ service_id }) => service_id ?? []),
  );
  const items = found.map(({ id, name, service_id, since }): Down => {
    const serviceName = service_id === null ? undefined : names.get(service_id);
    return {
      kind: 'monitor',
      id,
      name,
      state: 'down',
      since,
      ...(service_id === null ? {} : { serviceId: service_id }),
      ...(serviceName === undefined ? {} : { serviceName }),
    };
  });
  return { items, total: found[0]?.total ?? 0 };
}

/** The names of those that the caller may read. */
async function namesOfServices(
  tx: Tx,
  { org, reach }: Pick<Reader, 'org' | 'reach'>,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const visible = reach('uptime.service.read');
  const readable = [...new Set(ids)].filter((id) => visible === '*' || visible?.has(id));
  return readable.length ? namedServices(tx, org, readable) : new Map();
}

/** Only vantages that should check something. */
async function readVantages(tx: Tx, { org, reach }: Reader): Promise<OverviewPart['failing']> {
  const visible = reach('uptime.monitor.read');
  if (visible === undefined) return undefined;
  const [all, inUse] = await Promise.all([vantages(tx), store.vantagesInUse(tx, org, visible)]);
  return countAll(
    all
      .filter(({ id, available }) => !available && inUse.has(id))
      .map(
        ({ id, label }): Failing => ({
          kind: 'vantage',
          id,
          name: label,
          reason: 'no prober reports from there; nothing is checked from there',
        }),
      ),
  );
}

/** How many monitors there are is for callers who may read all of them. */
async function readQuota(tx: Tx, { app, org, reach }: Reader): Promise<{ full?: NonNullable<OverviewPart['full']>; firstSteps: Step[] }> {
  const [mayRead, mayCreate] = [reach('uptime.monitor.read') === '*', reach('uptime.monitor.write') === '*'];
  if (!mayRead && !mayCreate) return { firstSteps: [] };
  const count = await store.monitorCount(tx, org);
  const full: Full[] = fullness({ kind: 'monitors', name: 'Monitors', unit: 'monitors' }, count, app.config.uptime_monitor_quota);
  return { ...(mayRead ? { full: countAll(full) } : {}), firstSteps: mayCreate ? [{ step: 'monitor', done: count > 0 }] : [] };
}
