-- Mail out: domains that send, the keys that send for them, messages, and what becomes of each recipient.

-- A name stands here once, whoever's it is: two organizations cannot both speak for it.
create table domain (
  org_id        text not null,
  id            text primary key,
  name          text not null unique, -- lower case, in ASCII
  send_state    text not null check (send_state in ('pending', 'verified', 'failed')),
  receive_state text not null check (receive_state in ('none', 'pending', 'verified', 'failed')),
  created_at    timestamptz(3) not null,
  -- DKIM. The public halves stand in the DNS.
  rsa_selector  text not null,
  rsa_public    text not null,
  rsa_private   bytea not null, -- sealed
  ed_selector   text not null,
  ed_public     text not null,
  ed_private    bytea not null, -- sealed
  -- Verification: when it looks again, and since when what was found is missing.
  next_check_at timestamptz(3) not null,
  checked_at    timestamptz(3),
  checks        int not null default 0,
  state_at      timestamptz(3) not null,
  misses        int not null default 0,
  missing_since timestamptz(3)
);
create index domain_by_org on domain (org_id, id);
create index domain_by_next_check on domain (next_check_at);

create table send_key (
  org_id       text not null,
  id           text primary key,
  name         text not null,
  key_id       text not null unique, -- the user name at the SMTP door
  hash         bytea not null unique,
  domain_ids   text[] not null, -- empty: every domain of the organization
  created_at   timestamptz(3) not null,
  last_used_at timestamptz(3),
  revoked_at   timestamptz(3)
);
create index send_key_by_org on send_key (org_id, id);

-- Bodies of many messages, one behind the other. Written on the machine `node`; once it is stored, every machine reads it.
create table segment (
  key        text primary key, -- its name in the storage
  node       text not null,
  created_at timestamptz(3) not null,
  stored_at  timestamptz(3)
);
create index segment_by_age on segment (created_at);

create table message (
  org_id       text not null,
  id           text primary key,
  direction    text not null check (direction in ('send', 'receive')),
  state        text not null check (state in ('queued', 'sending', 'deferred', 'sent', 'delivered', 'bounced', 'complained', 'suppressed', 'failed', 'received')),
  state_at     timestamptz(3) not null,
  created_at   timestamptz(3) not null,
  sent_at      timestamptz(3),
  scheduled_at timestamptz(3),
  door         text not null check (door in ('http', 'smtp', 'mx', 'relay')),
  domain_id    text not null,
  send_key_id  text,
  sender       text not null, -- what stands in From
  recipients   text[] not null, -- what stands in To
  copies       text[] not null, -- what stands in Cc
  subject      text,
  message_id   text not null, -- its header
  tags         jsonb,
  last_error   text,
  -- Where its bytes are: in a segment, or an object of its own with offset 0. Null once they were removed.
  body_key     text,
  body_offset  bigint not null,
  body_bytes   bigint not null,
  -- Where the header ends, and the hash of the rest as DKIM counts it: signing needs no second look at the body.
  header_bytes int not null,
  body_hash    bytea not null
);
create index message_by_org on message (org_id, id);
create index message_by_domain on message (org_id, domain_id, id);
create index message_by_state on message (org_id, state, id) where state in ('queued', 'sending', 'deferred', 'bounced', 'complained', 'suppressed', 'failed');

-- One recipient of a message: the unit that is sent, and its fate. A queue: see kernel/jobs/lease.ts.
create table recipient (
  id          bigint generated always as identity primary key,
  org_id      text not null,
  message_id  text not null,
  address     text not null, -- as it is sent to; the domain in lower case
  folded      text not null, -- in lower case, for search and suppression
  state       text not null check (state in ('queued', 'sending', 'deferred', 'delivered', 'bounced', 'complained', 'suppressed', 'failed')),
  state_at    timestamptz(3) not null,
  last_error  text,
  -- The machine on which its body is; null: every machine reads it.
  node        text,
  run_at      timestamptz(3) not null,
  attempts    int not null default 0, -- how often it was claimed
  tries       int not null default 0, -- how often the other side said "later"
  lease       uuid,
  lease_until timestamptz(3),
  done_at     timestamptz(3)
);
create index recipient_by_message on recipient (message_id);
create index recipient_by_address on recipient (org_id, folded, message_id);
create index recipient_due on recipient (org_id, run_at, id) where done_at is null;

create table event (
  message_id  text not null,
  id          bigint generated always as identity,
  org_id      text not null,
  kind        text not null check (kind in ('sent', 'delivered', 'bounced', 'complained')),
  bounce_type text,
  recipient   text,
  detail      jsonb,
  occurred_at timestamptz(3) not null,
  primary key (message_id, id)
);

create table suppression (
  org_id     text not null,
  id         text primary key,
  address    text not null, -- in lower case
  reason     text not null check (reason in ('bounce', 'complaint', 'manual')),
  created_at timestamptz(3) not null,
  unique (org_id, address)
);
create index suppression_by_org on suppression (org_id, id);

-- What the operator set for an organization, and whether it may send. No row: the defaults.
create table posture (
  org_id       text primary key,
  daily_quota  int,
  paused_at    timestamptz(3),
  pause_reason text,
  resumed_at   timestamptz(3)
);

-- Recipients accepted in a day of UTC.
create table usage (
  org_id   text not null,
  day      date not null,
  accepted bigint not null,
  primary key (org_id, day)
);

-- What an Idempotency-Key made, for a day.
create table submission (
  org_id      text not null,
  key         text not null,
  fingerprint bytea not null,
  message_ids text[] not null,
  created_at  timestamptz(3) not null,
  primary key (org_id, key)
);
create index submission_by_age on submission (created_at);

-- What makes return paths unforgeable; made once.
create table return_path_key (
  one    boolean primary key default true check (one),
  sealed bytea not null
);
