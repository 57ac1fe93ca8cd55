import type { OncallService } from '../../../sdk/browser.ts';
import { firstPages } from '../../data/pages.ts';
import { useQuery } from '../../data/query.ts';
import { useMay } from '../../data/rights.ts';
import { useMonitors } from '../../data/uptime.ts';

// What the screens of status pages read.

export const usePages = () =>
  useQuery({
    key: ['status', 'pages'],
    kinds: ['oncall.page'],
    ask: async (api, signal) => (await api.status.listStatusPages({ signal })).pages,
  });

export const usePage = (slug: string) =>
  useQuery({ key: ['status', 'page', slug], kinds: ['oncall.page'], ask: (api, signal) => api.status.getStatusPage(slug, { signal }) });

export const useSubscribers = (slug: string) =>
  useQuery({
    key: ['status', 'subscribers', slug],
    kinds: ['oncall.page'],
    ask: async (api, signal) => {
      const { answers, isCut } = await firstPages(api.status.listStatusPageSubscribers.pages(slug, {}, { signal }));
      return { list: answers.flatMap(({ subscribers }) => subscribers), isCut };
    },
  });

/** The services that a page can show, by name. */
export const useServices = () =>
  useQuery<OncallService[]>({
    key: ['status', 'services'],
    kinds: ['oncall.service', 'uptime.service'],
    ask: async (api, signal) => {
      const { answers } = await firstPages(api.oncall.listOncallServices.pages({}, { signal }));
      return answers.flatMap(({ services }) => services).toSorted((a, b) => a.name.localeCompare(b.name));
    },
  });

/** The services of which a monitor is down now; empty too where the person may not read monitors. */
export function useDownServices(): ReadonlySet<string> {
  const { data } = useMonitors({ isOff: !useMay('getUptimeSummary') });
  return new Set(data?.rows.flatMap(({ enabled, state, serviceId }) => (enabled && state === 'down' && serviceId ? [serviceId] : [])));
}
