-- Clusters: what was asked for, what runs, who runs it, and who joins.

-- A queue as well: a server with the role shard holds each row under a lease for as long as it serves it; see kernel/jobs/lease.ts.
create table cluster (
  org_id              text not null,
  id                  text primary key,
  name                text not null,
  driver              text not null,
  -- What was asked for: generation counts its changes, observed_generation is the last one that runs.
  tier                text not null,
  version             text not null,
  replicas            int not null,
  mesh                boolean not null,
  datastore           jsonb not null,
  load_balancers      boolean not null,
  generation          int not null default 1,
  observed_generation int not null default 0,
  phase               text not null check (phase in ('pending', 'provisioning', 'ready', 'updating', 'degraded', 'failed', 'deleting')),
  phase_at            timestamptz(3) not null,
  reason              text, -- why it is degraded, or failed
  change              jsonb, -- what is under way: what, since
  created_at          timestamptz(3) not null,
  -- Where it is reached, from whichever server. With one port for all (by name) there is no port here.
  port                int unique,
  endpoint            text,
  metered_at          timestamptz(3), -- up to here its hours are counted
  run_at              timestamptz(3) not null,
  attempts            int not null default 0,
  failures            int not null default 0, -- in a row
  lease               uuid,
  lease_until         timestamptz(3),
  unique (org_id, name)
);
create index cluster_due on cluster (run_at, id);

-- Servers with the role shard, as long as they say that they are there.
create table shard (
  id      uuid primary key,
  seen_at timestamptz(3) not null
);

-- One authority for a cluster, which signs its serving certificate and the nodes' certificates.
create table pki (
  org_id              text not null,
  cluster_id          text primary key,
  ca_certificate      text not null,
  ca_key              bytea not null, -- sealed
  ca_renew_at         timestamptz(3) not null,
  serving_certificate text not null,
  serving_key         bytea not null, -- sealed
  serving_renew_at    timestamptz(3) not null,
  account_key         bytea not null, -- sealed; signs the tokens of service accounts
  revision            int not null default 1 -- counts renewals
);
create index pki_by_renewal on pki (least(serving_renew_at, ca_renew_at));

-- Bootstrap tokens by their public half. The secret half stands in the cluster alone.
create table join_token (
  org_id          text not null,
  cluster_id      text not null,
  id              text not null,
  created_at      timestamptz(3) not null,
  expires_at      timestamptz(3) not null,
  registration_id text, -- the registration token that it was made from
  used_at         timestamptz(3),
  used_by         text, -- the node
  request_uid     text, -- the one certificate request that it is good for
  primary key (cluster_id, id)
);
create index join_token_by_expiry on join_token (expires_at);

create table registration_token (
  org_id       text not null,
  id           text primary key,
  cluster_id   text not null,
  name         text not null,
  hash         bytea not null unique,
  created_at   timestamptz(3) not null,
  expires_at   timestamptz(3),
  last_used_at timestamptz(3),
  disabled     boolean not null default false
);
create index registration_token_by_cluster on registration_token (cluster_id, id);

-- Every certificate that a node was given; refused from `refused_at` on, when its node was deregistered.
create table node_certificate (
  org_id      text not null,
  cluster_id  text not null,
  fingerprint text not null, -- SHA-256 of its DER, lower case hex
  node        text not null,
  expires_at  timestamptz(3) not null,
  refused_at  timestamptz(3),
  primary key (cluster_id, fingerprint)
);
create index node_certificate_by_node on node_certificate (cluster_id, node);
create index node_certificate_by_expiry on node_certificate (expires_at);

-- Who was given a client configuration: a service account each, until they may no longer have one.
create table access (
  org_id     text not null,
  cluster_id text not null,
  user_id    text not null,
  granted_at timestamptz(3) not null,
  primary key (cluster_id, user_id)
);

-- Sums of a calendar month.
create table meter (
  org_id        text not null,
  cluster_id    text not null,
  month         date not null,
  plane_seconds double precision not null default 0,
  node_seconds  double precision not null default 0,
  requests      bigint not null default 0,
  errors        bigint not null default 0,
  inflight_peak int not null default 0,
  primary key (cluster_id, month)
);

-- What a cluster used, once a minute, for the last quarter of an hour.
create table sample (
  org_id     text not null,
  cluster_id text not null,
  at         timestamptz(3) not null,
  nodes      int not null,
  ready      int not null,
  inflight   int not null,
  objects    int not null,
  bytes      bigint not null,
  primary key (cluster_id, at)
);
