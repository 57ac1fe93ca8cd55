-- Objects of embedded clusters, and what changed in them lately.

-- One row a cluster. Whoever writes to the cluster locks it: versions grow in the order of commits, so a watch that reads up to one misses none before.
create table object_space (
  org_id       text not null,
  cluster_id   text primary key,
  version      bigint not null default 0, -- of the newest change
  oldest       bigint not null default 0, -- changes up to this one are forgotten
  objects      int not null default 0,
  bytes        bigint not null default 0, -- of all objects
  log_bytes    bigint not null default 0, -- of all changes
  rbac_version bigint not null default 0, -- of the newest change to a role or binding
  prepared     int not null default 0     -- which set of built-in objects it has
);

create table object (
  org_id     text not null,
  cluster_id text not null,
  resource   text collate "C" not null, -- configmaps, leases.coordination.k8s.io
  namespace  text collate "C" not null, -- empty: of the whole cluster
  name       text collate "C" not null,
  version    bigint not null,
  uid        text not null,
  bytes      int not null,
  deleting   boolean not null, -- it goes once its finalizers are gone
  owners     text[] not null,  -- uids: it goes when they do
  body       text not null,    -- JSON as it is served
  primary key (cluster_id, resource, namespace, name)
);
create index object_by_namespace on object (cluster_id, namespace, resource, name) where namespace <> '';
create index object_by_deleting on object (cluster_id, resource) where deleting;
create index object_by_owner on object (cluster_id, resource) where owners <> '{}';

-- What watches tell. Bounded: the oldest are forgotten, and a watch from before them is told to list anew.
create table object_change (
  org_id     text not null,
  cluster_id text not null,
  version    bigint not null,
  type       text not null check (type in ('ADDED', 'MODIFIED', 'DELETED')),
  resource   text collate "C" not null,
  namespace  text collate "C" not null,
  name       text collate "C" not null,
  was        text, -- labels and fields before, if selectors could tell the difference
  body       text not null,
  primary key (cluster_id, version)
);

-- Owners that went and whose objects are still to go.
create table object_gone_owner (
  org_id     text not null,
  cluster_id text not null,
  uid        text not null,
  primary key (cluster_id, uid)
);
