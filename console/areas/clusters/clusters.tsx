import { ThingList } from '../../ui/thing-list.tsx';

/** A cluster is a Kubernetes control plane that this server runs. */
export default function Clusters() {
  return (
    <ThingList
      title="Clusters"
      operation="listClusters"
      create="createCluster"
      to={({ name }) => `/clusters/${encodeURIComponent(String(name))}`}
      example="quarterdeck clusters create --name dev --tier small"
      about="A cluster is a Kubernetes control plane that this server runs."
    />
  );
}
