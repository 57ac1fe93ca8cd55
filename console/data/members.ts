import { firstPages } from './pages.ts';
import { useQuery } from './query.ts';

/** The members of the organization to choose from, by name. */
export function useMembers(): { value: string; label: string }[] {
  const { data } = useQuery({
    key: ['members', 'all'],
    kinds: ['organization.member'],
    ask: async (api, signal) => {
      const { answers } = await firstPages(api.organization.listMembers.pages({}, { signal }));
      return answers.flatMap(({ members }) => members);
    },
  });
  return (data ?? [])
    .map(({ userId, name, email }) => ({ value: userId, label: name && name !== email ? `${name} (${email})` : email }))
    .toSorted((a, b) => (a.label < b.label ? -1 : 1));
}
