-- The page waits until something is mended that is not about its recipient: mail does not leave, or the provider refuses the account.
-- The walk goes on without it at once, and the page is tried for as long as it is needed.
alter table oncall.page add column passed_over boolean not null default false;
