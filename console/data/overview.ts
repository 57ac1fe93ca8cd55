import type { Api } from '../../sdk/browser.ts';
import { useQuery } from './query.ts';
import { kindsOf } from './rights.ts';

export type Overview = Awaited<ReturnType<Api['overview']['getOverview']>>;

export const useOverview = () =>
  useQuery({ key: ['overview'], kinds: kindsOf('getOverview'), ask: (api, signal) => api.overview.getOverview({ signal }) });
