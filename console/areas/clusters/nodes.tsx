import { ThingList } from '../../ui/thing-list.tsx';

/** A node joins with the command of a join token. */
export default function Nodes({ params }: { params: Record<string, string> }) {
  return (
    <ThingList
      title="Nodes"
      operation="listClusterNodes"
      params={[params['name']!]}
      crumbs={[
        { to: '/clusters', label: 'Clusters' },
        { to: `/clusters/${encodeURIComponent(params['name']!)}`, label: params['name']! },
      ]}
      create="createJoinToken"
      acts={[{ operation: 'deregisterClusterNode', label: 'Deregister', params: (row) => [params['name']!, String(row['name'])] }]}
      about="A node joins with the command of a join token."
    />
  );
}
