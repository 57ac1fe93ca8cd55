import type { UptimeService, UptimeSummary } from '../../sdk/browser.ts';
import { firstPages } from './pages.ts';
import { useQuery } from './query.ts';

// Monitors and services, which several areas show. One answer holds all monitors of most organizations.

/** Checks that change no state are told by no hint; what they measured is asked for as often as this. */
export const checksSeconds = 60;

export type MonitorRow = UptimeSummary['monitors'][number];

export interface Monitors extends Pick<UptimeSummary, 'cellSeconds' | 'pointSeconds' | 'counts'> {
  rows: MonitorRow[];
  /** There are more than are shown. */
  isCut: boolean;
}

export const useMonitors = ({ isOff = false } = {}) =>
  useQuery<Monitors>({
    key: ['uptime', 'summary'],
    kinds: ['uptime.monitor'],
    isOff,
    refreshSeconds: checksSeconds,
    ask: async (api, signal) => {
      const { answers, isCut } = await firstPages(api.uptime.getUptimeSummary.pages({}, { signal }));
      const { cellSeconds, pointSeconds, counts } = answers[0]!;
      return { cellSeconds, pointSeconds, counts, rows: answers.flatMap(({ monitors }) => monitors), isCut };
    },
  });

/** By name. */
export const useServices = ({ isOff = false, isSteady = false } = {}) =>
  useQuery<UptimeService[]>({
    key: ['uptime', 'services'],
    kinds: ['uptime.service', 'uptime.monitor'],
    isOff,
    isSteady,
    ask: async (api, signal) => {
      const { answers } = await firstPages(api.uptime.listUptimeServices.pages({}, { signal }));
      const services = answers.flatMap((answer) => answer.services);
      return services.toSorted((a, b) => a.name.localeCompare(b.name));
    },
  });
