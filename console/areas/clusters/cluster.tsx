import { Link } from '../../ui/link.tsx';
import { ThingSheet } from '../../ui/thing-sheet.tsx';

const parts = [
  ['nodes', 'Nodes'],
  ['upgrades', 'Upgrades'],
  ['tokens', 'Registration tokens'],
  ['usage', 'Usage'],
] as const;

/** A cluster as it becomes ready, and the ways on to its nodes, upgrades and usage. */
export default function Cluster({ params }: { params: Record<string, string> }) {
  return (
    <ThingSheet
      title="Cluster"
      operation="getCluster"
      params={[params['name']!]}
      name="name"
      state="phase"
      crumbs={[{ to: '/clusters', label: 'Clusters' }]}
      acts={[
        { operation: 'getClusterKubeconfig', label: 'Kubeconfig' },
        { operation: 'createJoinToken', label: 'Join a node' },
        { operation: 'updateCluster', label: 'Change' },
        { operation: 'deleteCluster', label: 'Delete' },
      ]}
    >
      {({ name }) => (
        <p class="buttons">
          {parts.map(([part, label]) => (
            <Link key={part} class="button plain" to={`/clusters/${encodeURIComponent(String(name))}/${part}`}>
              {label}
            </Link>
          ))}
        </p>
      )}
    </ThingSheet>
  );
}
