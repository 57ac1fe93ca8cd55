-- Client configurations by the token that they were fetched with: each token of theirs is bound to one Secret in the cluster, and ends with it.
create table clusters.access_token (
  org_id     text not null,
  cluster_id text not null,
  token_id   text not null,
  user_id    text not null,
  secret     text not null, -- its name in the cluster
  granted_at timestamptz(3) not null,
  primary key (cluster_id, token_id),
  unique (cluster_id, secret)
);
