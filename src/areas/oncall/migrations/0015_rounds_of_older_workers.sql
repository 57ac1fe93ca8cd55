-- A worker of an older release, in the middle of an upgrade, does not name the round of a page. It belongs to the round that its
-- incident is in: taken as the first, it would be one that was made long ago, and nobody would be paged.
alter table page alter column round set default -1;
create function take_round() returns trigger language plpgsql as $$
begin
  new.round := coalesce((select i.round from oncall.incident i where i.org_id = new.org_id and i.id = new.incident_id), 0);
  return new;
end $$;
create trigger page_takes_round before insert on page for each row when (new.round < 0) execute function take_round();
