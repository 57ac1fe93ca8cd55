-- What became of an organization's recipients, by the hour of UTC: posture looks at the last 7 days of it. Emptied when the operator resumes.
create table sending_hour (
  org_id     text not null,
  hour       timestamptz(0) not null,
  recipients bigint not null, -- of whom it is known what became of their mail
  hard       bigint not null,
  complaints bigint not null,
  primary key (org_id, hour)
);
create index sending_hour_by_age on sending_hour (hour);

-- Since when its organization knows that it comes near to being paused.
alter table posture add column warned_at timestamptz(3);
