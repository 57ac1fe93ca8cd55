-- For how long a recipient has been tried, without the time for which nothing was tried: paused, no server, waiting for its turn. Null: not tried yet.
alter table recipient add column tried_seconds int;
