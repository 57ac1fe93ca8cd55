-- 0008 counted before it held anybody back: what a server of the release before accepted or sent between the count and the triggers was in no
-- figure, for good. Counted once more, while nobody writes.
lock table recipient in share row exclusive mode;
lock table queue_change, queue_figure in exclusive mode;
delete from queue_change;
delete from queue_figure;
insert into queue_figure (org_id, state, recipients)
select org_id, state, count(*) from recipient where done_at is null group by org_id, state;
