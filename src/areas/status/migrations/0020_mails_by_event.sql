-- What became of the mails about an update, or about the end of an incident: how many were queued, and how those ended that are over.
create table mailing (
  org_id   text not null,
  event_id text not null, -- of the update, or of the incident that ended
  first_at timestamptz(3) not null,
  last_at  timestamptz(3) not null,
  queued   int not null default 0,
  sent     int not null default 0, -- taken by the mail server that they were handed to
  failed   int not null default 0, -- given up
  dropped  int not null default 0, -- not needed any more: unsubscribed, or the update was retracted
  primary key (org_id, event_id)
);
create index mailing_by_age on mailing (first_at);
