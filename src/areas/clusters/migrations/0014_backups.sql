-- Backups of clusters of programs, and what is made of them.

-- An object in the storage each: `cluster-backups/<cluster>/<id>`. `making`: its bytes may be there in part or in whole; `removing`: they go.
create table clusters.backup (
  org_id        text not null,
  cluster_id    text not null,
  id            text primary key,
  state         text not null check (state in ('making', 'complete', 'removing')),
  store         text not null, -- what the copy is of: kine or etcd
  version       text not null, -- of Kubernetes
  lease         uuid not null, -- of the cluster, under which it is made
  data_key      bytea not null, -- sealed; opens its object
  begun_at      timestamptz(3) not null,
  at            timestamptz(3), -- when it was complete
  revision      bigint not null,
  objects       int not null,
  bytes         bigint not null default 0, -- of the sealed object; while it is made, so far
  -- Restored into a control plane of its own, and counted.
  check_until   timestamptz(3), -- being checked; what a check leaves is removed after this
  checked_at    timestamptz(3),
  check_failure text
);
create index backup_by_cluster on clusters.backup (cluster_id, id);

-- What the operator asked for, and what failed.
create table clusters.backup_work (
  org_id     text not null,
  cluster_id text primary key,
  wanted_at  timestamptz(3), -- one is to be made now
  failed_at  timestamptz(3), -- the last try, if it failed
  failure    text,
  told_at    timestamptz(3) -- when the owners were last told of a failure that lasts
);

-- Each time that a cluster gets another store: a restore, or a move from kine to etcd of its own.
-- wanted: no server has begun; loading: the new store is filled beside the one that serves; switched: requests may have reached the new one.
create table clusters.store_change (
  org_id          text not null,
  cluster_id      text not null,
  generation      int not null, -- of the new store; never given again
  from_generation int not null,
  from_store      text not null,
  kind            text not null check (kind in ('restore', 'move')),
  backup_id       text,
  state           text not null check (state in ('wanted', 'loading', 'switched', 'done', 'failed')),
  begun_at        timestamptz(3) not null,
  ended_at        timestamptz(3),
  bytes           bigint not null default 0, -- of the backup, read so far
  failure         text,
  primary key (cluster_id, generation)
);
create unique index store_change_under_way on clusters.store_change (cluster_id) where ended_at is null;

-- As for etcd: a server of the release before knows the first generation of a store alone, and would start an empty one.
drop trigger fences_store on clusters.cluster;
create trigger fences_store before update of lease, lease_until on clusters.cluster
  for each row when ((new.store = 'etcd' or new.store_generation > 1) and new.lease is not null) execute function clusters.fence_store();
