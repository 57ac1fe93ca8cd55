-- Who is paged, when, and what became of every page.

create table policy (
  org_id     text not null,
  id         text not null,
  name       text not null,
  repeat     int not null,
  steps      jsonb not null, -- [{ target: { kind, id, label }, waitSeconds }]
  created_at timestamptz(3) not null,
  primary key (org_id, id)
);

-- Which policy pages for a service. The service itself lives in the services catalog.
create table service_policy (
  org_id     text not null,
  service_id text not null,
  policy_id  text not null,
  primary key (org_id, service_id),
  foreign key (org_id, policy_id) references policy
);
create index service_policy_by_policy on service_policy (org_id, policy_id);

-- One rotation. It is computed from the anchor at read time: no row changes when somebody else goes on call.
create table schedule (
  org_id       text not null,
  id           text not null,
  name         text not null,
  timezone     text not null,
  participants jsonb not null, -- [{ userId, label }]
  handoff      jsonb not null, -- { interval, dow?, time }
  anchor_date  date not null,
  anchor_index int not null,
  created_at   timestamptz(3) not null,
  primary key (org_id, id)
);

create table schedule_override (
  org_id      text not null,
  schedule_id text not null,
  id          text not null,
  user_id     text not null,
  label       text not null,
  starts_at   timestamptz(3) not null,
  ends_at     timestamptz(3) not null check (ends_at > starts_at),
  created_at  timestamptz(3) not null,
  primary key (org_id, id),
  foreign key (org_id, schedule_id) references schedule on delete cascade
);
create index schedule_override_by_end on schedule_override (org_id, schedule_id, ends_at);

-- A person's own wishes; without a row: email at once.
create table paging_settings (
  org_id     text not null,
  user_id    text not null,
  phone      text,
  -- Set when the person texted STOP: no SMS until they save their settings again.
  phone_stopped_at timestamptz(3),
  rules      jsonb not null, -- [{ channel, delaySeconds }]
  updated_at timestamptz(3) not null,
  primary key (org_id, user_id)
);

create table provider (
  org_id      text primary key,
  account_sid text not null,
  from_number text not null,
  auth_token  bytea not null, -- sealed: oncall.provider.auth_token.<org_id>
  broken      text,           -- why the provider last refused the credential
  updated_at  timestamptz(3) not null
);

create table alert_source (
  org_id        text not null,
  id            text not null,
  name          text not null,
  service_id    text not null,
  hash          bytea not null unique,
  created_at    timestamptz(3) not null,
  last_event_at timestamptz(3),
  revoked_at    timestamptz(3),
  primary key (org_id, id)
);
create index alert_source_by_service on alert_source (service_id) where revoked_at is null;

-- The walk stands on the incident, with the policy as it was when the incident opened.
create table incident (
  org_id          text not null,
  id              text not null,
  service_id      text not null,
  service_name    text not null,
  title           text not null,
  description     text,
  origin          text not null check (origin in ('alert', 'manual', 'uptime')),
  status          text not null check (status in ('open', 'acknowledged', 'resolved')),
  opened_at       timestamptz(3) not null,
  acknowledged_at timestamptz(3),
  acknowledged_by jsonb,
  resolved_at     timestamptz(3),
  resolved_by     jsonb,
  firing_alerts   int not null default 0,
  alert_count     int not null default 0,
  policy          jsonb, -- { id, name, repeat, steps }
  walk_state      text not null check (walk_state in ('walking', 'acknowledged', 'resolved', 'exhausted', 'none')),
  -- The step that fired last.
  pass            int not null default 0,
  step            int not null default 0,
  -- The one that is due at next_at; without one, the walk ends then.
  next_pass       int,
  next_step       int,
  next_at         timestamptz(3),
  -- What this pass has waited so far: one that waits for nothing must not begin again at once.
  pass_waited     int not null default 0,
  primary key (org_id, id)
);
create index incident_walking on incident (next_at) where walk_state = 'walking';
create index incident_by_age on incident (opened_at);
create index incident_live on incident (org_id, service_id, id desc) where status <> 'resolved';
create index incident_by_status on incident (org_id, status, id desc);

-- State is kept per fingerprint: a group's own status lies when some of its alerts have ended.
create table alert (
  org_id        text not null,
  id            text not null,
  incident_id   text not null,
  service_id    text not null,
  source_id     text not null,
  source_name   text not null,
  fingerprint   text not null,
  status        text not null check (status in ('firing', 'resolved')),
  title         text not null,
  labels        jsonb not null,
  annotations   jsonb not null,
  generator_url text,
  starts_at     timestamptz(3) not null,
  ends_at       timestamptz(3),
  -- Prometheus without an Alertmanager renews its alerts; past this one they are stale, and said to be.
  lease_until   timestamptz(3),
  first_at      timestamptz(3) not null,
  last_at       timestamptz(3) not null,
  deliveries    int not null default 1,
  primary key (org_id, id),
  foreign key (org_id, incident_id) references incident on delete cascade
);
create unique index alert_occurrence on alert (org_id, service_id, source_id, fingerprint, starts_at, incident_id);
create index alert_by_incident on alert (org_id, incident_id);
create index alert_firing on alert (org_id, service_id, source_id, fingerprint) where status = 'firing';
create index alert_lease on alert (lease_until) where status = 'firing' and lease_until is not null;

create table timeline (
  org_id      text not null,
  incident_id text not null,
  id          text not null,
  seq         bigint generated always as identity, -- several entries share a millisecond
  at          timestamptz(3) not null,
  kind        text not null,
  message     text not null,
  actor       jsonb,
  data        jsonb,
  primary key (org_id, id),
  foreign key (org_id, incident_id) references incident on delete cascade
);
create index timeline_by_incident on timeline (org_id, incident_id, seq);

-- The ledger: one row for each rule of each responder of each step, ending in exactly one terminal state.
create table page (
  org_id       text not null,
  id           text not null,
  incident_id  text not null,
  pass         int not null,
  step         int not null,
  user_id      text not null,
  label        text not null,
  channel      text not null check (channel in ('email', 'sms', 'voice')),
  rule_index   int not null,
  address      text,
  code         text not null, -- four digits that a reply names
  state        text not null check (state in ('queued', 'sending', 'sent', 'delivered', 'confirmed', 'failed', 'canceled')),
  error        text,
  provider_id  text,
  attempts     int not null default 0,
  due_at       timestamptz(3) not null,
  sending_at   timestamptz(3),
  sent_at      timestamptz(3),
  ended_at     timestamptz(3),
  primary key (org_id, id),
  unique (org_id, incident_id, pass, step, user_id, channel, rule_index),
  foreign key (org_id, incident_id) references incident on delete cascade
);
create index page_by_incident on page (org_id, incident_id);
create index page_due on page (due_at) where state in ('queued', 'sending');
create index page_by_code on page (org_id, user_id, code);
create index page_by_provider on page (provider_id) where provider_id is not null;

create table public_update (
  org_id      text not null,
  incident_id text not null,
  id          text not null,
  at          timestamptz(3) not null,
  body        text not null,
  by_label    text not null,
  primary key (org_id, id),
  foreign key (org_id, incident_id) references incident on delete cascade
);
create index public_update_by_incident on public_update (org_id, incident_id, id);
