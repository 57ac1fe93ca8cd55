-- A registry's content. What a repository links is what its readers may see: blobs are stored once for everybody, but a digest
-- alone opens nothing.

create table registry (
  org_id         text not null,
  id             text primary key,
  slug           text not null unique,
  display_name   text not null,
  region         text not null,
  quota_bytes    bigint not null,
  -- Distinct bytes of blobs and manifests linked in the registry, and what uploads under way have announced.
  used_bytes     bigint not null default 0 check (used_bytes >= 0),
  reserved_bytes bigint not null default 0 check (reserved_bytes >= 0),
  -- Tags that may not move (patterns), and how long and how many untagged or old images are kept.
  immutable_tags text[] not null default '{}',
  retention      jsonb not null default '{}',
  created_at     timestamptz(3) not null
);
create index registry_by_org on registry (org_id, id);

create table repository (
  id            bigint generated always as identity primary key,
  org_id        text not null,
  registry_id   text not null references registry on delete cascade,
  name          text collate "C" not null,
  -- Set for a repository that caches an upstream's: nobody pushes there.
  upstream_host text,
  created_at    timestamptz(3) not null,
  unique (registry_id, name)
);

-- Content, once for the whole installation. The row's id stands in the storage key: deleting an old copy never hits a new one.
create table blob (
  id          bigint generated always as identity primary key,
  digest      text collate "C" not null,
  size        bigint not null,
  storage_key text not null,
  state       text not null default 'live' check (state in ('live', 'dying')),
  created_at  timestamptz(3) not null
);
create unique index blob_live on blob (digest) where state = 'live';

-- touched_at: when a client was last told that the blob is here. Garbage collection leaves it alone for a while after that.
create table repository_blob (
  repository_id bigint not null references repository on delete cascade,
  blob_id       bigint not null references blob,
  registry_id   text not null,
  touched_at    timestamptz(3) not null,
  primary key (repository_id, blob_id)
);
create index repository_blob_by_blob on repository_blob (blob_id, registry_id);

create table manifest (
  id            bigint generated always as identity primary key,
  org_id        text not null,
  repository_id bigint not null references repository on delete cascade,
  digest        text collate "C" not null,
  media_type    text not null,
  artifact_type text,
  config_type   text,
  subject       text collate "C",
  annotations   json,
  -- What a signed statement is about, of its annotations: those may hold what SQL cannot take out of JSON, such as \u0000.
  predicate_type text,
  body          bytea not null,
  size          int not null,
  pushed_by     text,
  created_at    timestamptz(3) not null,
  pulled_at     timestamptz(3),
  unique (repository_id, digest)
);
create index manifest_by_digest on manifest (digest);
create index manifest_by_subject on manifest (repository_id, subject, id) where subject is not null;

-- What an image needs, by digest: a layer may be absent on purpose (non-distributable), or not fetched yet (a cached image).
-- A link whose digest is listed here for its repository is what garbage collection never touches.
create table manifest_blob (
  manifest_id   bigint not null references manifest on delete cascade,
  repository_id bigint not null,
  digest        text collate "C" not null,
  size          bigint not null,
  primary key (manifest_id, digest)
);
create index manifest_blob_by_digest on manifest_blob (repository_id, digest);

-- An index lists children by digest; a child may be pushed later, or never (sparse).
create table manifest_child (
  parent_id     bigint not null references manifest on delete cascade,
  repository_id bigint not null,
  digest        text collate "C" not null,
  size          bigint not null,
  primary key (parent_id, digest)
);
create index manifest_child_by_digest on manifest_child (repository_id, digest);

create table tag (
  repository_id bigint not null references repository on delete cascade,
  name          text collate "C" not null,
  manifest_id   bigint not null references manifest on delete cascade,
  updated_at    timestamptz(3) not null,
  primary key (repository_id, name)
);
create index tag_by_manifest on tag (manifest_id);

-- An upload in progress. With the file store its bytes are on the machine that took them: `node` says which.
create table upload (
  id            text primary key,
  org_id        text not null,
  repository_id bigint not null references repository on delete cascade,
  storage_id    text not null,
  node          text not null,
  reserved      bigint not null default 0,
  key_id        text not null,
  created_at    timestamptz(3) not null,
  expires_at    timestamptz(3) not null
);
create index upload_by_expiry on upload (expires_at);

-- Login credentials (registry_id null: they reach what login_scope lists), keys minted by hand, and keys minted for CI.
create table registry_key (
  key_id       text primary key,
  org_id       text not null,
  registry_id  text references registry on delete cascade,
  user_id      text,
  name         text not null,
  hash         bytea not null unique,
  mode         text not null check (mode in ('pull', 'readwrite')),
  prefixes     text[] not null,
  minted_via   text not null check (minted_via in ('manual', 'oidc', 'login')),
  rule_id      bigint,
  created_at   timestamptz(3) not null,
  expires_at   timestamptz(3),
  last_used_at timestamptz(3),
  revoked_at   timestamptz(3)
);
create index registry_key_by_registry on registry_key (registry_id, key_id);

create table login_scope (
  key_id      text not null references registry_key on delete cascade,
  registry_id text not null references registry on delete cascade,
  mode        text not null check (mode in ('pull', 'readwrite')),
  primary key (key_id, registry_id)
);

create table oidc_rule (
  id              bigint generated always as identity primary key,
  org_id          text not null,
  registry_id     text not null references registry on delete cascade,
  name            text not null,
  issuer          text not null,
  audience        text not null,
  subject_pattern text not null,
  mode            text not null check (mode in ('pull', 'readwrite')),
  prefixes        text[] not null,
  created_at      timestamptz(3) not null
);
create index oidc_rule_by_issuer on oidc_rule (issuer);
create index oidc_rule_by_registry on oidc_rule (registry_id, id);

create table upstream_credential (
  registry_id text not null references registry on delete cascade,
  host        text not null,
  org_id      text not null,
  username    text not null,
  password    bytea not null, -- sealed: registry.upstream_credential.password.<registry_id>/<host>
  created_at  timestamptz(3) not null,
  primary key (registry_id, host)
);

-- What the cache knows of an upstream's tag.
create table cache_entry (
  repository_id bigint not null references repository on delete cascade,
  tag           text collate "C" not null,
  digest        text,
  checked_at    timestamptz(3) not null,
  missing_until timestamptz(3),
  primary key (repository_id, tag)
);

-- What garbage collection must look at, and not before when. A link is `<repository_id>/<blob_id>`, a blob its id.
create table gc_queue (
  kind         text not null check (kind in ('link', 'blob')),
  ref          text not null,
  review_after timestamptz(3) not null,
  -- For how long a touch protects a link; null: as long as the operator has set.
  grace_seconds int,
  tries        int not null default 0,
  primary key (kind, ref)
);
create index gc_queue_due on gc_queue (review_after);
