-- Certificates that an authority issues by ACME. Names are hosts of the whole installation; a status page's own domain is one of them.

create table authority (
  directory     text primary key, -- its URL
  account_key   bytea not null, -- sealed: certificates.authority.account_key.<directory>
  account_url   text, -- null: not registered yet
  contact       text not null,
  eab_kid       text,
  failures      int not null default 0, -- in a row, of the authority and not of a name
  paused_until  timestamptz(3),
  last_error    text,
  registered_at timestamptz(3),
  created_at    timestamptz(3) not null
);

create table certificate (
  name         text primary key,
  org_id       text, -- whose status page it is; null: a host of the installation
  version      bigint not null default 0, -- a run changes only the version that it has read
  -- what is presented
  chain        text,
  private_key  bytea, -- sealed: certificates.certificate.private_key.<name>
  issued_at    timestamptz(3),
  not_after    timestamptz(3),
  renew_at     timestamptz(3),
  -- what is under way
  step         text not null default 'idle' check (step in ('idle', 'ordered', 'proving', 'issuing')),
  directory    text, -- the authority of the order
  order_url    text,
  next_key     bytea, -- sealed: certificates.certificate.next_key.<name>
  proof_type   text,
  proof_token  text,
  proof        text, -- what the authority expects to find
  -- what went wrong
  failures     int not null default 0, -- in a row
  failed_proof text, -- the way of proving that failed last
  next_at      timestamptz(3) not null, -- nothing is tried before
  last_error   text,
  last_error_at timestamptz(3),
  warned       int not null default 0, -- how often the operator was written to about this certificate
  created_at   timestamptz(3) not null,
  check ((chain is null) = (private_key is null) and (chain is null) = (issued_at is null) and (chain is null) = (not_after is null)),
  check ((step = 'idle') = (order_url is null))
);
create index certificate_by_organization on certificate (org_id) where org_id is not null;
create index certificate_proofs on certificate (proof_token) where proof_token is not null;

-- What was asked of an authority, by which its limits are kept. Rows go after a month.
create table attempt (
  id         bigint generated always as identity primary key,
  name       text not null,
  registered text not null, -- the registered domain, by which authorities count
  is_first   boolean not null, -- of a name without a certificate; renewals have limits of their own
  outcome    text not null check (outcome in ('ordered', 'issued', 'refused')),
  at         timestamptz(3) not null
);
create index attempt_by_name on attempt (name, at);
create index attempt_by_registered on attempt (registered, at);
create index attempt_by_age on attempt (at);
