-- Secrets of embedded clusters are sealed, as objects and as changes: then `body` is empty. Sealed with the place that `sealed_as` ends.
alter table clusters.object
  add column sealed    bytea,
  add column sealed_as text collate "C" generated always as (case when sealed is not null then cluster_id || '/' || namespace || '/' || name end) stored;
create unique index object_by_seal on clusters.object (sealed_as) where sealed_as is not null;

alter table clusters.object_change
  add column bytes     int, -- of the object as it is told; null: of body
  add column sealed    bytea,
  add column sealed_as text collate "C" generated always as (case when sealed is not null then cluster_id || '/' || version end) stored;
create unique index object_change_by_seal on clusters.object_change (sealed_as) where sealed_as is not null;
