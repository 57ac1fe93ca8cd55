import { ThingList } from '../../ui/thing-list.tsx';

/** A registration token lets many nodes join until it ends. */
export default function Tokens({ params }: { params: Record<string, string> }) {
  return (
    <ThingList
      title="Registration tokens"
      operation="listRegistrationTokens"
      params={[params['name']!]}
      crumbs={[
        { to: '/clusters', label: 'Clusters' },
        { to: `/clusters/${encodeURIComponent(params['name']!)}`, label: params['name']! },
      ]}
      create="createRegistrationToken"
      acts={[
        { operation: 'updateRegistrationToken', label: 'Change', params: (row) => [params['name']!, String(row['id'])] },
        { operation: 'revokeRegistrationToken', label: 'Revoke', params: (row) => [params['name']!, String(row['id'])] },
      ]}
      about="A registration token lets many nodes join until it ends."
    />
  );
}
