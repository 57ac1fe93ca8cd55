-- How many pages about its incident its person did not get since the one before, because they would have been too many in a minute.
alter table page add column held_back int not null default 0;
-- Whom a person's minute is counted by.
create index page_by_person on page (org_id, user_id, due_at);

-- Pages held back that no page has told of yet.
create table held_back (
  org_id      text not null,
  incident_id text not null,
  user_id     text not null,
  pages       int not null,
  primary key (org_id, incident_id, user_id),
  foreign key (org_id, incident_id) references incident on delete cascade
);
