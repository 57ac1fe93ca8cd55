import { useQuery } from './query.ts';

/** The members of the organization to choose from, by name. */
export function useMembers(): { value: string; label: string }[] {
  const { data } = useQuery({
    key: ['members'],
    kinds: ['organization.member'],
    ask: (api, signal) => api.organization.listMembers({}, { signal }),
  });
  return (data?.members ?? [])
    .map(({ userId, name, email }) => ({ value: userId, label: name && name !== email ? `${name} (${email})` : email }))
    .toSorted((a, b) => (a.label < b.label ? -1 : 1));
}
