-- A walk may begin again: something new fires after its end, or whoever acknowledged is gone. Pages of each round are told apart.
-- A notice is a page to whoever acknowledged; `about` is its sentence.
alter table incident add column round int not null default 0, add column notices int not null default 0;
alter table page add column round int not null default 0, add column notice int not null default 0, add column about text;
do $$
declare named text;
begin
  select conname into named from pg_constraint where conrelid = 'oncall.page'::regclass and contype = 'u';
  execute format('alter table oncall.page drop constraint %I', named);
end $$;
create unique index page_once on page (org_id, incident_id, round, pass, step, notice, user_id, channel, rule_index);
