import { ThingSheet } from '../../ui/thing-sheet.tsx';

/** What a cluster uses, and what its driver cannot give it. */
export default function Usage({ params }: { params: Record<string, string> }) {
  return (
    <ThingSheet
      title="Usage"
      operation="getClusterUsage"
      params={[params['name']!]}
      name="cluster"
      crumbs={[
        { to: '/clusters', label: 'Clusters' },
        { to: `/clusters/${encodeURIComponent(params['name']!)}`, label: params['name']! },
      ]}
    />
  );
}
