-- Dedicated datastores: what keeps a cluster's objects, and on which machine.
alter table clusters.cluster
  add column store text not null default 'kine' check (store in ('kine', 'etcd')),
  add column store_generation int not null default 1, -- which copy of the store is wanted; each restore makes another one
  add column store_directory uuid; -- the data directory that has etcd's files, as in clusters.shard; null: they are not made yet

alter table clusters.shard
  add column directory uuid, -- the data directory that it runs on
  add column has_etcd boolean not null default false;

-- A server of the release before knows no stores: it would start an empty kine for such a cluster. So only transactions that say that they know
-- stores may claim it or renew its lease.
create function clusters.fence_store() returns trigger language plpgsql as $$
begin
  if current_setting('clusters.knows_stores', true) = 'on' then
    return new;
  end if;
  return null;
end
$$;

create trigger fences_store before update of lease, lease_until on clusters.cluster
  for each row when (new.store = 'etcd' and new.lease is not null) execute function clusters.fence_store();
