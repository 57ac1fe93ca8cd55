-- Whether the server bounds the programs of its clusters by cgroups: '' if it does, else why not; null as long as it has had none to bound.
alter table clusters.shard add column without_cgroups text;
