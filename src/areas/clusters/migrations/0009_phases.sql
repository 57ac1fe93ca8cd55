-- Each phase that a cluster came into, the newest 200: its screen and the story of an incident tell them. A trigger notes them, because servers
-- of the release before change phases too.
create table clusters.phase (
  org_id     text not null,
  cluster_id text not null,
  id         bigint generated always as identity, -- several share a millisecond
  at         timestamptz(3) not null,
  phase      text not null,
  what       text, -- the change that is under way
  reason     text, -- why it is degraded, or failed
  primary key (cluster_id, id)
);
create index phase_by_time on clusters.phase (org_id, at);

insert into clusters.phase (org_id, cluster_id, at, phase, what, reason)
select org_id, id, phase_at, phase, change ->> 'what', reason from clusters.cluster order by phase_at;

create function clusters.note_phase() returns trigger language plpgsql as $$
begin
  insert into clusters.phase (org_id, cluster_id, at, phase, what, reason)
  values (new.org_id, new.id, new.phase_at, new.phase, new.change ->> 'what', new.reason);
  delete from clusters.phase
   where cluster_id = new.id and id <= (select p.id from clusters.phase p where p.cluster_id = new.id order by p.id desc offset 200 limit 1);
  return null;
end
$$;

create trigger notes_first_phase after insert on clusters.cluster for each row execute function clusters.note_phase();
create trigger notes_phase after update of phase on clusters.cluster
  for each row when (old.phase is distinct from new.phase) execute function clusters.note_phase();
