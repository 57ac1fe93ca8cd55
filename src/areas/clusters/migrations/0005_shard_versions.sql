-- Versions of Kubernetes' own programs that a server has: what all of them have together is what can be asked for.
alter table clusters.shard add column versions text[] not null default '{}';
