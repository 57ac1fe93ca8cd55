-- What of a source's deliveries could not be taken in, the last time that something could not.
alter table alert_source add column problem text, add column problem_at timestamptz(3), add column rejected int not null default 0;
