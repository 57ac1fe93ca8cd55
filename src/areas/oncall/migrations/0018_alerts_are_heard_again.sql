-- A sender repeats what fires every few minutes, and each repetition changes the alert's row, but none of its indexes. With room left beside it
-- the row stays on its page, and the six indexes need no entry: two thirds of the time, and a fifth of the log.
alter table alert set (fillfactor = 70);
