-- Domains under which pages are read, beside their usual address.
create table domain (
  org_id        text not null,
  page_id       text not null,
  name          text not null,
  state         text not null check (state in ('pending', 'verified', 'failed')),
  state_at      timestamptz(3) not null, -- since when
  is_contested  boolean not null, -- another organization has or had it: a record must prove whose it is
  misses        int not null default 0, -- in a row
  missing_since timestamptz(3),
  observed      jsonb, -- what the DNS said last: [{ type, outcome, observed, reason }]
  checked_at    timestamptz(3),
  next_check_at timestamptz(3), -- null: not checked by itself any more
  created_at    timestamptz(3) not null,
  primary key (org_id, page_id),
  foreign key (org_id, page_id) references page on delete cascade
);
create unique index domain_of_organization on domain (org_id, name);
create unique index domain_verified on domain (name) where state = 'verified';
create index domain_by_name on domain (name);
create index domain_due on domain (next_check_at) where next_check_at is not null;

-- Who last proved a name, also after its page is gone: a forgotten CNAME must not lead to another organization's page.
create table domain_owner (
  name        text primary key,
  org_id      text not null,
  verified_at timestamptz(3) not null
);
