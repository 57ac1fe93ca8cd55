-- All checks of a monitor in steps of half an hour, all vantages together: what a screen of 1,000 monitors shows of the last day. Written in
-- the statement that writes the checks, and deleted after two days.
create table check_half_hour (
  monitor_no bigint not null,
  half_hour  int not null,  -- counted from 1970
  n          int not null,  -- checks that were made and count
  ok         int not null,
  ok_ms      double precision not null, -- summed latency of the passing
  bad_ms     double precision not null, -- and of the failing
  primary key (monitor_no, half_hour)
) with (fillfactor = 70);
create index check_half_hour_by_age on check_half_hour (half_hour);

-- The day before the upgrade. Servers of an earlier release that still run beside us add nothing: what they store until they are upgraded is
-- missing in the bars of that day, and nowhere else.
insert into check_half_hour (monitor_no, half_hour, n, ok, ok_ms, bad_ms)
select monitor_no, floor(extract(epoch from bucket) / 1800)::int, sum(n), sum(ok), sum(ok_ms), sum(bad_ms)
  from check_rollup where bucket >= kernel.now() - interval '1 day' group by 1, 2;
