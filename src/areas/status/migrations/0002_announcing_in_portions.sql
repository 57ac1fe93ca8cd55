-- How far the subscribers of an update, or of an incident's end, have their mails; rows of before are done.
alter table announced add column done boolean not null default true;
alter table announced add column after_id text not null default ''; -- of the last subscriber whose mail is queued

-- When the next mail of an organization's pages may leave: one with many readers or many updates does not keep another's waiting.
create table mail_pace (
  org_id  text primary key,
  free_at timestamptz(3) not null
);
