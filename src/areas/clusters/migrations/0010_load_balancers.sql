-- Managed load balancers: networks that the operator routes to the shard servers, and which service has which address of them.

-- Two networks that overlap exclude each other, also if both are added at the same moment.
create table clusters.address_pool (
  network  cidr primary key,
  added_at timestamptz(3) not null,
  constraint address_pool_overlap exclude using gist (network inet_ops with &&)
);

-- One address for each service. It is taken before the listener opens, and given back after it is closed.
create table clusters.load_balancer (
  org_id      text not null,
  cluster_id  text not null,
  uid         text not null, -- of the Service: one that is made anew under the same name is another
  namespace   text not null,
  service     text not null,
  address     inet not null unique,
  taken_at    timestamptz(3) not null,
  problem     text, -- why its listener does not accept connections
  primary key (cluster_id, uid)
);

-- Of a month: how long services had an address, and what went through their listeners.
alter table clusters.meter
  add column balancer_seconds double precision not null default 0,
  add column balancer_in bigint not null default 0,
  add column balancer_out bigint not null default 0;
