-- Clusters of Kubernetes' own programs.

-- What the programs of a cluster know each other by, as one sealed text. Null: the cluster runs no programs.
alter table clusters.pki add column inner_keys bytea;

-- What each program of a cluster used when it was looked at: name, cpuMilli, memoryBytes, restarts.
alter table clusters.sample add column components jsonb not null default '[]';
