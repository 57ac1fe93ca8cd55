-- What became of recipients, by domain and day of UTC. A batch of outcomes appends rows, so that no two batches wait for each other; a task
-- adds them up. Kept for 400 days.
create table outcome_change (
  id         bigint generated always as identity primary key,
  org_id     text not null,
  domain_id  text not null,
  day        date not null,
  sent       int not null, -- recipients for whom another server gave a final answer
  delivered  int not null,
  bounced    int not null,
  hard       int not null, -- of the bounced
  complained int not null,
  suppressed int not null
);
create table outcome_day (
  org_id     text not null,
  domain_id  text not null,
  day        date not null,
  sent       bigint not null,
  delivered  bigint not null,
  bounced    bigint not null,
  hard       bigint not null,
  complained bigint not null,
  suppressed bigint not null,
  primary key (org_id, day, domain_id)
);
