-- How many recipients are under way, by organization and state, without counting them: `queue_figure` and what changed since it was written.
-- Changes are rows of their own, so that nobody who accepts or sends waits for anybody else's lock; a task adds them up.
create table queue_figure (
  org_id     text not null,
  state      text not null,
  recipients bigint not null,
  primary key (org_id, state)
);
create table queue_change (
  id         bigint generated always as identity primary key,
  org_id     text not null,
  state      text not null,
  recipients bigint not null
);
insert into queue_figure (org_id, state, recipients)
select org_id, state, count(*) from recipient where done_at is null group by org_id, state;

create function note_queue_change() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into email.queue_change (org_id, state, recipients)
    select org_id, state, count(*) from new_rows where done_at is null group by org_id, state;
  elsif tg_op = 'DELETE' then
    insert into email.queue_change (org_id, state, recipients)
    select org_id, state, -count(*) from old_rows where done_at is null group by org_id, state;
  else
    insert into email.queue_change (org_id, state, recipients)
    select org_id, state, sum(n) from (
      select org_id, state, 1 as n from new_rows where done_at is null
      union all
      select org_id, state, -1 from old_rows where done_at is null) c
     group by org_id, state having sum(n) <> 0;
  end if;
  return null;
end $$;
create trigger recipients_came after insert on recipient referencing new table as new_rows for each statement execute function email.note_queue_change();
create trigger recipients_changed after update on recipient referencing old table as old_rows new table as new_rows
  for each statement execute function email.note_queue_change();
create trigger recipients_went after delete on recipient referencing old table as old_rows for each statement execute function email.note_queue_change();

-- The one that has waited longest, and the last that something went wrong for. Whoever is born under a lease is in neither.
create index recipient_waiting on recipient (org_id, state, run_at) where done_at is null and state in ('queued', 'deferred');
create index recipient_in_trouble on recipient (org_id, state, state_at) where done_at is null and last_error is not null;
