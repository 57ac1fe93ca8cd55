-- When somebody last pushed it as what is here already: retention counts from then. Null: not since it came.
alter table registry.manifest add column pushed_at timestamptz(3);

-- Manifests from which somebody took a tag, or whose tag moved on: whoever still pulls them by digest does not lose them because an index
-- that lists them goes. A note goes with its manifest. What lost its tags before this is not known.
create table registry.once_tagged (
  org_id        text not null,
  repository_id bigint not null references registry.repository on delete cascade,
  digest        text collate "C" not null,
  primary key (repository_id, digest)
);
