-- What the public sees. Incidents and services live elsewhere: here is only which of them a page shows, and who reads it by mail.

create table page (
  org_id      text not null,
  id          text not null,
  slug        text not null unique, -- across organizations: it is an address
  title       text not null,
  description text,
  service_ids text[] not null,
  groups      jsonb not null, -- [{ name, serviceIds }]
  accent      text,
  logo        bytea,
  logo_type   text check ((logo is null) = (logo_type is null)),
  timezone    text not null,
  created_at  timestamptz(3) not null,
  updated_at  timestamptz(3) not null,
  primary key (org_id, id)
);

create table subscriber (
  org_id       text not null,
  page_id      text not null,
  id           text not null,
  address      text not null,
  state        text not null check (state in ('pending', 'active')),
  -- What the links in our mails carry. We look it up by its hash, and write it into every further mail.
  token        bytea not null, -- sealed: status.subscriber.token.<id>
  token_hash   bytea not null unique,
  asked_at     timestamptz(3) not null,
  confirmed_at timestamptz(3),
  created_at   timestamptz(3) not null,
  primary key (org_id, id),
  foreign key (org_id, page_id) references page on delete cascade
);
create unique index subscriber_by_address on subscriber (org_id, page_id, lower(address));
create index subscriber_pending on subscriber (asked_at) where state = 'pending';

-- Updates whose mails are queued.
create table announced (
  org_id    text not null,
  update_id text not null,
  at        timestamptz(3) not null,
  primary key (org_id, update_id)
);
create index announced_by_age on announced (at);
create index announced_by_update on announced (update_id);
