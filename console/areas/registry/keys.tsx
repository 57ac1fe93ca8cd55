import { ThingList } from '../../ui/thing-list.tsx';

/** A key is for a machine that pulls or pushes without a person. */
export default function Keys({ params }: { params: Record<string, string> }) {
  return (
    <ThingList
      title="Registry keys"
      operation="listRegistryKeys"
      params={[params['slug']!]}
      crumbs={[
        { to: '/registry', label: 'Registries' },
        { to: `/registry/${encodeURIComponent(params['slug']!)}`, label: params['slug']! },
      ]}
      create="createRegistryKey"
      acts={[{ operation: 'revokeRegistryKey', label: 'Revoke', params: (row) => [params['slug']!, String(row['keyId'])] }]}
      about="A key is for a machine that pulls or pushes without a person."
    />
  );
}
