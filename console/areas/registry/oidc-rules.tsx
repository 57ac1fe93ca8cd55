import { ThingList } from '../../ui/thing-list.tsx';

/** A rule lets a CI system push without a stored secret. */
export default function OidcRules({ params }: { params: Record<string, string> }) {
  return (
    <ThingList
      title="OIDC rules"
      operation="listRegistryOidcRules"
      params={[params['slug']!]}
      crumbs={[
        { to: '/registry', label: 'Registries' },
        { to: `/registry/${encodeURIComponent(params['slug']!)}`, label: params['slug']! },
      ]}
      create="createRegistryOidcRule"
      acts={[{ operation: 'deleteRegistryOidcRule', label: 'Delete', params: (row) => [params['slug']!, String(row['id'])] }]}
      about="A rule lets a CI system push without a stored secret."
    />
  );
}
