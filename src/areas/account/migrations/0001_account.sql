-- How people sign in. Every secret is a hash, or sealed (totp.secret).

-- Links that work once. claim and operator sign their person in; reset lets them choose a password; address proves a new mail address (detail).
create table one_time_link (
  id         text primary key,
  user_id    text not null,
  hash       bytea not null unique,
  purpose    text not null check (purpose in ('claim', 'operator', 'reset', 'address')),
  detail     text not null default '',
  created_at timestamptz(3) not null,
  expires_at timestamptz(3) not null
);
create index one_time_link_by_user on one_time_link (user_id);
create index one_time_link_by_end on one_time_link (expires_at);

create table password (
  user_id    text primary key,
  phc        text not null, -- argon2id with its parameters, in the PHC string format
  changed_at timestamptz(3) not null
);

create table passkey (
  id            text primary key,
  user_id       text not null,
  credential_id bytea not null unique,
  public_key    bytea not null,
  counter       bigint not null,
  transports    text[] not null,
  rp_id         text not null, -- the host that it works on; another public URL has other passkeys
  is_backed_up  boolean not null,
  name          text not null,
  created_at    timestamptz(3) not null,
  used_at       timestamptz(3)
);
create index passkey_by_user on passkey (user_id, id);

-- A challenge is sealed in a cookie. Its hash stands here once it was used, until it would be over.
create table used_challenge (
  hash       bytea primary key,
  expires_at timestamptz(3) not null
);
create index used_challenge_by_end on used_challenge (expires_at);

-- An authenticator app. It counts once a code was right (confirmed_at). last_step: the newest time step whose code was used; none is used twice.
create table totp (
  user_id      text primary key,
  secret       bytea not null,
  created_at   timestamptz(3) not null,
  confirmed_at timestamptz(3),
  last_step    bigint not null default 0
);

create table recovery_code (
  user_id text not null,
  hash    bytea not null,
  used_at timestamptz(3),
  primary key (user_id, hash)
);

-- The password was right, and a code is missing still: a cookie, known by its hash. tries: wrong codes so far.
create table pending_sign_in (
  id         text primary key,
  user_id    text not null,
  hash       bytea not null unique,
  methods    text[] not null,
  tries      int not null default 0,
  created_at timestamptz(3) not null,
  expires_at timestamptz(3) not null
);
create index pending_sign_in_by_end on pending_sign_in (expires_at);
create index pending_sign_in_by_user on pending_sign_in (user_id);

-- Wrong passwords and codes in the current hour, by whom they were for and where they came from (engine/guesses.ts).
create table guesses (
  bucket     text primary key,
  failures   int not null,
  expires_at timestamptz(3) not null
);
create index guesses_by_end on guesses (expires_at);

-- Browsers in which a person has signed in: they have guesses of their own, so that strangers cannot use them up.
create table known_browser (
  hash       bytea primary key,
  user_id    text not null,
  created_at timestamptz(3) not null,
  seen_at    timestamptz(3) not null
);
create index known_browser_by_user on known_browser (user_id, seen_at);
create index known_browser_by_seen on known_browser (seen_at);

-- A program that asks to act for a person. The person types the user code and approves; the program fetches its token once.
create table device_request (
  id            text primary key,
  device_hash   bytea not null unique,
  user_code     text not null unique,
  program       text not null, -- as it names itself
  address       text not null, -- where it asked from
  approved_by   text,          -- the person
  org_id        text,
  scope         jsonb,         -- what its token is narrowed to; null: not narrowed
  is_refused    boolean not null default false,
  polled_at     timestamptz(3),
  created_at    timestamptz(3) not null,
  expires_at    timestamptz(3) not null
);
create index device_request_by_end on device_request (expires_at);
create index device_request_by_address on device_request (address);
