-- Who may do what. The tables that one statement joins to build a principal stand in one schema.

create table org (
  id              text primary key,
  slug            text not null unique,
  name            text not null,
  entitlements    text[] not null,
  payment_active  boolean not null default true,
  billing_email   text not null,
  technical_email text not null,
  security_email  text not null,
  created_at      timestamptz(3) not null
);

create table account (
  id         text primary key,
  email      text not null,
  name       text not null,
  created_at timestamptz(3) not null
);
create unique index account_by_email on account (lower(email));

create table member (
  org_id    text not null references org on delete cascade,
  user_id   text not null references account,
  role      text not null check (role in ('owner', 'admin', 'member')),
  joined_at timestamptz(3) not null,
  primary key (org_id, user_id)
);
create index member_by_user on member (user_id);

create table custom_role (
  org_id      text not null references org on delete cascade,
  id          text not null,
  name        text not null,
  description text not null,
  permissions text[] not null,
  created_at  timestamptz(3) not null,
  primary key (org_id, id)
);
create unique index custom_role_by_name on custom_role (org_id, lower(name));

create table role_grant (
  org_id       text not null,
  id           text not null,
  user_id      text not null,
  role         text not null,
  resource_ids text[] not null,
  created_at   timestamptz(3) not null,
  primary key (org_id, id),
  unique (org_id, user_id, role, resource_ids),
  foreign key (org_id, user_id) references member on delete cascade
);

-- scope: what the token was narrowed to, as shown. ceilings: the scopes of the tokens it was minted or changed by;
-- it never exceeds any of them, whatever their roles become later.
create table token (
  org_id       text not null,
  id           text not null,
  user_id      text not null,
  name         text not null,
  start        text not null,
  hash         bytea not null unique,
  enabled      boolean not null default true,
  scope        jsonb not null,
  ceilings     jsonb not null,
  created_at   timestamptz(3) not null,
  expires_at   timestamptz(3) not null,
  last_request timestamptz(3),
  primary key (org_id, id),
  foreign key (org_id, user_id) references member on delete cascade
);
create index token_by_owner on token (org_id, user_id, id desc);

create table invitation (
  org_id     text not null references org on delete cascade,
  id         text not null,
  email      text not null,
  role       text not null,
  hash       bytea not null unique,
  created_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  primary key (org_id, id)
);
