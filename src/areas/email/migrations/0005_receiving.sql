-- Mail in: where it goes, what has arrived and waits to be read, and how much an organization has taken in.

-- Which local parts of a domain go to which endpoint.
create table route (
  org_id      text not null,
  id          text primary key,
  domain_id   text not null,
  pattern     text not null, -- in lower case: a whole local part, a prefix ending in *, or * alone
  endpoint_id text not null,
  created_at  timestamptz(3) not null,
  unique (domain_id, pattern)
);
create index route_by_org on route (org_id, id);
create index route_by_endpoint on route (org_id, endpoint_id);

-- What has arrived and was not read yet. A queue: see kernel/jobs/lease.ts. A row goes in the transaction that tells of it.
create table arrival (
  id           bigint generated always as identity primary key,
  org_id       text not null,
  message_id   text not null, -- the received message; of a report, the sent one that it is about
  route_id     text,          -- null: a report
  endpoint_id  text,
  recipient_id bigint,        -- of a report: the recipient that its address names
  envelope     jsonb not null,
  body_key     text not null,
  body_offset  bigint not null,
  body_bytes   bigint not null,
  received_at  timestamptz(3) not null,
  -- The machine on which its body is; null: every machine reads it.
  node         text,
  run_at       timestamptz(3) not null,
  attempts     int not null default 0,
  lease        uuid,
  lease_until  timestamptz(3)
);
create index arrival_due on arrival (org_id, run_at, id);
create index arrival_by_body on arrival (body_key);

-- To which addresses a received message came: for the search of the log.
create table received_address (
  org_id     text not null,
  folded     text not null,
  message_id text not null,
  primary key (org_id, folded, message_id)
);
create index received_address_by_message on received_address (message_id);

-- What arrived in a day of UTC: content is kept for 30 days, so the last 30 of these are what is stored.
create table received_usage (
  org_id   text not null,
  day      date not null,
  messages bigint not null,
  bytes    bigint not null,
  primary key (org_id, day)
);

-- What is known of a domain's receiving, as there is of its sending.
alter table domain add column receive_state_at timestamptz(3);
alter table domain add column receive_misses int not null default 0;
alter table domain add column receive_missing_since timestamptz(3);

-- Of a received message: the endpoint whose answer decides what becomes of it.
alter table message add column endpoint_id text;
create index message_received on message (org_id, id) where direction = 'receive';
