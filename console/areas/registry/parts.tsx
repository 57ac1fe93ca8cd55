import { path } from '../../data/place.ts';
import { useMay } from '../../data/rights.ts';
import { Link } from '../../ui/link.tsx';
import { registryPath } from './places.ts';

const parts = [
  ['', 'Images', 'getRegistry'],
  ['keys', 'Keys', 'listRegistryKeys'],
  ['oidc', 'OIDC rules', 'listRegistryOidcRules'],
  ['upstreams', 'Upstreams', 'listRegistryUpstreamCredentials'],
] as const;

/** The ways between the screens of one registry. */
export function Parts({ slug }: { slug: string }) {
  return (
    <nav class="parts" aria-label={`Parts of ${slug}`}>
      {parts.map(([part, label, operation]) => (
        <Part key={part} to={registryPath(slug, part)} label={label} operation={operation} />
      ))}
    </nav>
  );
}

function Part({ to, label, operation }: { to: string; label: string; operation: string }) {
  if (!useMay(operation)) return null;
  return (
    <Link to={to} isCurrent={decodeURIComponent(to) === decodeURIComponent(path.value)}>
      {label}
    </Link>
  );
}
