-- How an image came, and a layer: what the cache fetched makes room when room is needed, what somebody pushed or relies on stays.
alter table manifest add column cached boolean not null default false;
alter table repository_blob add column cached boolean not null default false;

-- Where anybody has pushed, or a tag is not the upstream's, it cannot be told any more who brought the rest: all of it stays.
update manifest m set cached = true
  from repository r
 where r.id = m.repository_id and r.upstream_host is not null and m.pushed_by = 'cache'
   and not exists (select from manifest o where o.repository_id = m.repository_id and o.pushed_by is distinct from 'cache')
   and not exists (select from tag t where t.manifest_id = m.id
                      and not exists (select from cache_entry e
                                       where e.repository_id = t.repository_id and e.tag = t.name and e.digest = m.digest));
update repository_blob l set cached = true
  from blob b
 where b.id = l.blob_id
   and exists (select from manifest_blob n join manifest m on m.id = n.manifest_id
                where n.repository_id = l.repository_id and n.digest = b.digest and m.cached)
   and not exists (select from manifest m where m.repository_id = l.repository_id and not m.cached);
create index manifest_cached on manifest (repository_id) where cached;

-- A layer that a push was told is here, and whose link a purge has taken since: nobody sees it and no quota counts it, but it is
-- there for the image that the push will bring.
create table promised_blob (
  repository_id bigint not null references repository on delete cascade,
  blob_id       bigint not null references blob on delete cascade,
  registry_id   text not null,
  until         timestamptz(3) not null,
  primary key (repository_id, blob_id)
);
create index promised_blob_by_blob on promised_blob (blob_id);
create index promised_blob_by_registry on promised_blob (registry_id, until);
