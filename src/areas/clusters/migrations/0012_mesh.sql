-- Mesh: a WireGuard network among the nodes of a cluster and its control plane.

-- A row: the cluster's mesh is switched on. Clusters that asked for one before this release have none until the operator adds it.
create table clusters.mesh (
  org_id      text not null,
  cluster_id  text primary key,
  enabled_at  timestamptz(3) not null,
  -- Set by the server that holds the cluster, once.
  network     cidr,
  public_key  text,
  private_key bytea, -- sealed
  port        int unique, -- UDP
  problem     text, -- why the interface is not there
  constraint mesh_network_overlap exclude using gist (network inet_ops with &&)
);

-- A node's key and address. It is in the mesh once it is confirmed, while it has a certificate that is not refused.
create table clusters.mesh_peer (
  org_id     text not null,
  cluster_id text not null,
  node       text not null,
  address    inet not null,
  public_key text not null,
  joined_at  timestamptz(3) not null, -- or its key changed
  confirmed  boolean not null default false, -- the machine that gave the key has the node's certificate
  endpoint   text, -- where the control plane sees it
  reached    text[] not null default '{}', -- keys of other nodes that it reaches directly, as it last said
  primary key (cluster_id, node),
  unique (cluster_id, address),
  unique (cluster_id, public_key)
);

-- The one node that a join token is good for, if its machine said a name.
alter table clusters.join_token add column node text;
