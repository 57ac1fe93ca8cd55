import { randomUUID } from 'node:crypto';
import { run } from '../../../src/kernel/db/index.ts';
import type { Quarterdeck } from '../../harness/index.ts';
import { byId, type Kitchen, type Maker, made201, type Recipes, scopable, unique } from '../recipe.ts';
import { newService, service } from './services.ts';

const reporting = new WeakMap<Quarterdeck, Promise<unknown>>();

/** Monitors need a vantage that reports. Nothing is probed: they are made disabled. */
function localReports(qd: Quarterdeck) {
  const begun =
    reporting.get(qd) ??
    qd.app.db.write(
      (tx) => run(tx)`insert into uptime.instance (id, vantage, version, standby, connected_at, seen_at)
        values (${randomUUID()}, 'local', 'matrix', true, kernel.now(), '2200-01-01T00:00:00Z')`,
    );
  reporting.set(qd, begun);
  return begun;
}

const monitorBody = async ({ qd }: Kitchen, more: Record<string, unknown> = {}) => {
  await localReports(qd);
  return {
    name: unique('monitor'),
    kind: 'http',
    enabled: false,
    intervalSeconds: 60,
    vantages: ['local'],
    http: { url: 'https://shop.example/health' },
    ...more,
  };
};
const monitor: Maker = async (kitchen) => scopable((await made201(kitchen.at.post('/uptime/monitors', await monitorBody(kitchen)))).id);

/** What belongs to a service is reached by whoever reaches that. */
const monitorOfService: Maker = async (kitchen) => {
  const its = await service(kitchen);
  const { id } = await made201(kitchen.at.post('/uptime/monitors', await monitorBody(kitchen, { serviceId: its.params.id })));
  return { params: { id }, narrowTo: its.params.id! };
};

const foreignService = async (kitchen: Kitchen) => (await service({ ...kitchen, at: kitchen.foreigner })).params.id!;

const window = (serviceId: string) => ({
  serviceId,
  title: unique('window'),
  startsAt: '2031-01-01T00:00:00Z',
  endsAt: '2031-01-02T00:00:00Z',
});
const maintenance: Maker = async (kitchen) => {
  const its = await service(kitchen);
  const { id } = await made201(kitchen.at.post('/uptime/maintenance', window(its.params.id!)));
  return { params: { id }, narrowTo: its.params.id! };
};

const tokenBody = () => ({ name: unique('token') });
const token: Maker = async ({ at }) => byId((await made201(at.post('/uptime/export-tokens', tokenBody()))).id);

const trial = { kind: 'tcp', tcp: { host: 'db.shop.example', port: 5432 }, timeoutMs: 500 };

/** The key alone says whose metrics these are. So a stranger's is of an organization that has none: it must see nobody else's. */
const scrapeKey = async ({ at, foreigner, qd }: Kitchen) => {
  const whose = at === foreigner ? await qd.organization(unique('scraped').replace(' ', '-')) : at;
  return (await made201(whose.post('/uptime/export-tokens', tokenBody()))).token;
};

export const uptime: Recipes = {
  pingUptime: {},
  getUptimeCatalog: {},
  getUptimeSummary: { lists: monitor, cases: { "a service's": { lists: monitorOfService } } },
  listMonitors: { lists: monitor, cases: { "a service's": { lists: monitorOfService } } },
  createMonitor: {
    body: (kitchen) => monitorBody(kitchen),
    cases: { "other's service": { body: async (kitchen) => monitorBody(kitchen, { serviceId: await foreignService(kitchen) }) } },
  },
  // Nothing is resolved here, so each finds an error, and says so with 200.
  tryMonitor: {
    body: () => trial,
    cases: {
      "of other's monitor": {
        body: async (kitchen) => ({ ...trial, monitorId: (await monitor({ ...kitchen, at: kitchen.foreigner })).params.id }),
      },
    },
  },
  getMonitor: { make: monitor, cases: { "a service's": { make: monitorOfService } } },
  updateMonitor: {
    make: monitor,
    body: () => ({ name: unique('renamed') }),
    cases: {
      "a service's": { make: monitorOfService },
      'to a service': { body: async (kitchen) => ({ serviceId: (await service(kitchen)).params.id }) },
      "to other's service": { body: async (kitchen) => ({ serviceId: await foreignService(kitchen) }) },
    },
  },
  deleteMonitor: { make: monitor, cases: { "a service's": { make: monitorOfService } } },
  getMonitorMetrics: { make: monitor, query: () => ({ window: '1h' }) },
  getMonitorMonth: { make: monitor },
  listMonitorFailures: { make: monitor },
  listMonitorTransitions: { make: monitor },
  listMaintenance: { lists: maintenance },
  createMaintenance: {
    make: service,
    body: (_kitchen, its) => window(its!.params.id!),
    cases: { "other's service": { body: async (kitchen) => window(await foreignService(kitchen)) } },
  },
  deleteMaintenance: { make: maintenance },
  getServiceAvailability: { make: service },
  listExportTokens: { lists: token },
  createExportToken: { body: tokenBody },
  revokeExportToken: { make: token },
  scrapeUptimeMetrics: { key: scrapeKey },
  listUptimeServices: { lists: service },
  createUptimeService: { body: newService },
  renameUptimeService: { make: service, body: newService },
  deleteUptimeService: { make: service },
};
