import { firstPages } from '../../data/pages.ts';
import { useQuery } from '../../data/query.ts';
import { checksSeconds } from '../../data/uptime.ts';

// What one monitor's screens read.

/** Places and intervals on offer. */
export const useCatalog = () =>
  useQuery({
    key: ['uptime', 'catalog'],
    kinds: ['uptime.monitor'],
    isSteady: true,
    ask: (api, signal) => api.uptime.getUptimeCatalog({ signal }),
  });

export const useMonitor = (id: string) =>
  useQuery({
    key: ['uptime', 'monitor', id],
    kinds: ['uptime.monitor'],
    refreshSeconds: checksSeconds,
    ask: (api, signal) => api.uptime.getMonitor(id, { signal }),
  });

export const useFailures = (id: string) =>
  useQuery({
    key: ['uptime', 'failures', id],
    kinds: ['uptime.monitor'],
    refreshSeconds: checksSeconds,
    ask: async (api, signal) => (await api.uptime.listMonitorFailures(id, { signal })).failures,
  });

export const useTransitions = (id: string) =>
  useQuery({
    key: ['uptime', 'transitions', id],
    kinds: ['uptime.monitor'],
    ask: async (api, signal) => (await api.uptime.listMonitorTransitions(id, { signal })).transitions,
  });

export const windows = [
  { value: '24h', label: '24 hours', seconds: 86_400 },
  { value: '1h', label: '1 hour', seconds: 3_600 },
  { value: '7d', label: '7 days', seconds: 604_800 },
  { value: '30d', label: '30 days', seconds: 2_592_000 },
] as const;
export type Window = (typeof windows)[number]['value'];

export const useMetrics = (id: string, window: Window) =>
  useQuery({
    key: ['uptime', 'metrics', id, window],
    kinds: ['uptime.monitor'],
    refreshSeconds: checksSeconds,
    ask: (api, signal) =>
      window === '30d' ? api.uptime.getMonitorMonth(id, { signal }) : api.uptime.getMonitorMetrics(id, { window }, { signal }),
  });

/** Under way, ahead and over, the one made last first. */
export const useMaintenance = () =>
  useQuery({
    key: ['uptime', 'maintenance'],
    kinds: ['uptime.service'],
    ask: async (api, signal) =>
      (await firstPages(api.uptime.listMaintenance.pages({}, { signal }))).answers.flatMap(({ maintenance }) => maintenance),
  });
