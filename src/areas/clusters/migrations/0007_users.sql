-- Why a server runs the programs of several clusters as one user: '' if each cluster has a user of its own; null as long as it has had none to run.
alter table clusters.shard add column sharing text;
