-- Endpoints that hear what becomes of mail, what they are told, and each telling.

create table webhook (
  org_id          text not null,
  id              text primary key,
  url             text not null,
  event_types     text[] not null,
  secret          bytea not null, -- sealed
  created_at      timestamptz(3) not null,
  disabled_at     timestamptz(3),
  disabled_reason text,
  failing_since   timestamptz(3) -- nothing but failures since then
);
create index webhook_by_org on webhook (org_id, id);

-- What is told, in the very bytes of every attempt, whoever hears it. Its id is the `webhook-id`.
create table webhook_event (
  org_id     text not null,
  id         text primary key,
  type       text not null,
  message_id text,
  payload    text not null,
  created_at timestamptz(3) not null
);

-- One event for one endpoint. Each has a job of the lane `webhook`; the states are only ever shown.
create table delivery (
  org_id      text not null,
  id          bigint generated always as identity primary key,
  endpoint_id text not null,
  event_id    text not null,
  event_type  text not null,
  message_id  text,
  state       text not null check (state in ('pending', 'delivering', 'delivered', 'failed')),
  attempts    int not null default 0,
  run         uuid, -- of the attempt under way: what an earlier one has to say counts no more
  last_status int,
  last_error  text,
  created_at  timestamptz(3) not null,
  done_at     timestamptz(3)
) with (fillfactor = 85);
create index delivery_by_org on delivery (org_id, id);
create index delivery_by_message on delivery (org_id, message_id, id) where message_id is not null;
create index delivery_by_endpoint on delivery (org_id, endpoint_id, id);
-- By whether it is done, not by its state: an attempt that begins changes no index.
create index delivery_waiting on delivery (org_id, endpoint_id, id) where done_at is null;

-- When its sender was last told that a recipient's mail is late.
alter table recipient add column delay_told_at timestamptz(3);
