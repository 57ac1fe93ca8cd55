-- When a vantage last could not make a check that was due, and why: shown on the monitor, so that nobody takes silence for health.
alter table vantage_state add column skipped_at timestamptz(3);
alter table vantage_state add column skipped_because text;
