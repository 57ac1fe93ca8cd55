-- Each attempt that another server put off is an event as well, with its words. `not valid`: rows that are stored hold anyway, and reading
-- them all would keep mail waiting.
alter table event drop constraint event_kind_check;
alter table event add constraint event_kind_check check (kind in ('sent', 'delivered', 'bounced', 'complained', 'deferred')) not valid;
