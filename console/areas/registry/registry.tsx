import { Link } from '../../ui/link.tsx';
import { ThingSheet } from '../../ui/thing-sheet.tsx';

const parts = [
  ['repositories', 'Repositories'],
  ['keys', 'Keys'],
  ['oidc', 'OIDC rules'],
  ['upstreams', 'Upstream credentials'],
] as const;

/** One registry, and the ways on to what it holds. */
export default function Registry({ params }: { params: Record<string, string> }) {
  return (
    <ThingSheet
      title="Registry"
      operation="getRegistry"
      params={[params['slug']!]}
      name="displayName"
      crumbs={[{ to: '/registry', label: 'Registries' }]}
      acts={[
        { operation: 'updateRegistry', label: 'Change', input: ({ displayName }) => ({ displayName }) },
        {
          operation: 'createRegistryLogin',
          label: 'Login for an hour',
          params: [],
          input: ({ slug }) => ({ registry: slug, access: 'readwrite' }),
        },
        { operation: 'deleteRegistry', label: 'Delete' },
      ]}
    >
      {({ slug }) => (
        <p class="buttons">
          {parts.map(([part, label]) => (
            <Link key={part} class="button plain" to={`/registry/${encodeURIComponent(String(slug))}/${part}`}>
              {label}
            </Link>
          ))}
        </p>
      )}
    </ThingSheet>
  );
}
