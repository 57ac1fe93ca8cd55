-- A person who signed in: a cookie, known by its hash. It acts in whichever organization of that person a request names.
-- It ends at ends_at: idle_seconds after its last use, and at expires_at at the latest. methods: how the person proved themselves when it began, or at the last step-up (authenticated_at).
create table identity.session (
  id               text primary key,
  user_id          text not null references identity.account on delete cascade,
  hash             bytea not null unique,
  methods          text[] not null,
  address          text not null,
  agent            text not null,
  created_at       timestamptz(3) not null,
  authenticated_at timestamptz(3) not null,
  seen_at          timestamptz(3) not null,
  expires_at       timestamptz(3) not null,
  idle_seconds     int not null,
  ends_at          timestamptz(3) not null
);
create index session_by_user on identity.session (user_id, id desc);
create index session_by_end on identity.session (ends_at);

-- Rights that were read before the session ended hold no more, in every organization of its person.
create function identity.move_rights_version_of_ended_sessions() returns trigger language plpgsql as $$
begin
  insert into identity.rights_version as v (org_id, version)
  select distinct m.org_id, 1 from gone g join identity.member m on m.user_id = g.user_id order by 1
      on conflict (org_id) do update set version = v.version + 1;
  return null;
end
$$;
create trigger ends_rights after delete on identity.session referencing old table as gone
  for each statement execute function identity.move_rights_version_of_ended_sessions();

-- Whether sessions need a second factor in this organization. Tokens go on.
alter table identity.org add column requires_second_factor boolean not null default false;
