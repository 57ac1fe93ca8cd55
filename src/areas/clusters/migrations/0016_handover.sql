-- Handovers: a cluster goes from one server to another that has prepared to serve it; and a server that is gone is found by its heartbeat.

-- `process`: as in kernel.server and in the name of its listening connection; null: a server of the release before, whose leases lapse by themselves.
-- `leaving`: it stops, and takes no cluster any more.
alter table clusters.shard add column process text, add column leaving boolean not null default false;

alter table clusters.cluster
  -- The row of clusters.shard whose heartbeat stands for the lease, as long as holder_lease is the lease: servers of the release before set neither.
  add column holder uuid,
  add column holder_lease uuid,
  -- The lease whose holder wants another server to take the cluster over.
  add column offered_lease uuid,
  -- The server that prepares to, the lease that it will have, and until when that is kept for it.
  add column heir_shard uuid,
  add column heir uuid,
  add column heir_until timestamptz(3),
  -- The lease before, until its holder has closed what only one server may have: the mesh and the listeners of load balancers.
  add column left_lease uuid;
