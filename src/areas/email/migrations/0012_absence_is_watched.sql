-- For how long a server that runs has watched a data directory be away: time in which no server ran at all does not count.
alter table holder add column away_seconds int not null default 0;
alter table holder add column watched_at timestamptz(3);
