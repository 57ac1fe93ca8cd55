import { ThingList } from '../../ui/thing-list.tsx';

/** No newer version is supported. */
export default function Upgrades({ params }: { params: Record<string, string> }) {
  return (
    <ThingList
      title="Upgrades"
      operation="listClusterUpgrades"
      params={[params['name']!]}
      crumbs={[
        { to: '/clusters', label: 'Clusters' },
        { to: `/clusters/${encodeURIComponent(params['name']!)}`, label: params['name']! },
      ]}
      about="No newer version is supported."
    />
  );
}
