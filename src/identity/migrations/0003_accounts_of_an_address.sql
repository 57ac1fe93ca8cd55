-- An address may have several accounts: whoever invites is shown the link, so an account that a link made proves nothing about who reads
-- the mail of its address, and must keep nobody else out. Only what the operator made, `vouched`, is the one of its address. Accounts from
-- before this count as made by links: nobody is kept out by them.
-- left_org, left_at: who belongs to no organization any more, and the last one they belonged to, which may take them back.
alter table account add column vouched boolean not null default false, add column left_org text, add column left_at timestamptz(3);
create index account_by_address on account (lower(email));
create unique index account_vouched on account (lower(email)) where vouched;
create index account_left on account (left_at) where left_at is not null;
drop index account_by_email;
create index invitation_by_end on invitation (expires_at);
