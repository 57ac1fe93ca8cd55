-- The catalog that on-call and uptime share.
create table service (
  org_id     text not null,
  id         text not null,
  name       text not null,
  created_at timestamptz(3) not null,
  primary key (org_id, id)
);
create unique index service_by_name on service (org_id, lower(name));
