-- kube-proxy and CoreDNS in clusters of programs.

-- A row: the cluster gets them. Clusters from before this release have none until the operator adds it.
create table clusters.addons (
  org_id     text not null,
  cluster_id text primary key,
  enabled_at timestamptz(3) not null,
  version    text, -- of Kubernetes, to which they were last brought; null: they were not made yet
  problem    text -- why they are not made, or not of the cluster's version
);
