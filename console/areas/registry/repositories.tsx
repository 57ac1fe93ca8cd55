import { ThingList } from '../../ui/thing-list.tsx';

/** A repository appears with the first image that is pushed to it. */
export default function Repositories({ params }: { params: Record<string, string> }) {
  return (
    <ThingList
      title="Repositories"
      operation="listRegistryRepositories"
      params={[params['slug']!]}
      crumbs={[
        { to: '/registry', label: 'Registries' },
        { to: `/registry/${encodeURIComponent(params['slug']!)}`, label: params['slug']! },
      ]}
      to={({ name }) => `/registry/${encodeURIComponent(params['slug']!)}/repository?name=${encodeURIComponent(String(name))}`}
      acts={[
        {
          operation: 'deleteRegistryRepository',
          label: 'Delete',
          params: (_row) => [params['slug']!],
          input: ({ name }) => ({ repo: name }),
        },
      ]}
      about="A repository appears with the first image that is pushed to it."
    />
  );
}
