import { ThingList } from '../../ui/thing-list.tsx';

/** With a credential the pull-through cache reads private images, and meets fewer limits. */
export default function UpstreamCredentials({ params }: { params: Record<string, string> }) {
  return (
    <ThingList
      title="Upstream credentials"
      operation="listRegistryUpstreamCredentials"
      params={[params['slug']!]}
      crumbs={[
        { to: '/registry', label: 'Registries' },
        { to: `/registry/${encodeURIComponent(params['slug']!)}`, label: params['slug']! },
      ]}
      acts={[
        { operation: 'setRegistryUpstreamCredential', label: 'Set', params: (row) => [params['slug']!, String(row['host'])] },
        { operation: 'deleteRegistryUpstreamCredential', label: 'Delete', params: (row) => [params['slug']!, String(row['host'])] },
      ]}
      about="With a credential the pull-through cache reads private images, and meets fewer limits."
    />
  );
}
