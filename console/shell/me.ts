import { useQuery } from '../data/query.ts';

/** The person, and the organizations that they may switch to. */
export const useMe = () =>
  useQuery({
    key: ['me'],
    kinds: ['organization.member', 'organization.profile'],
    ask: (api, signal) => api.organization.getMe({ signal }),
  });
