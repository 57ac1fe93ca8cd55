-- What kind of word an update is, and the way to the newest ones for those who tell readers of them.
alter table public_update add column kind text not null default 'update' check (kind in ('update', 'postmortem'));
create index public_update_by_age on public_update (at);
