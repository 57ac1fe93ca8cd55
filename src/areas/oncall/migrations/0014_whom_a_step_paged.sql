-- Whom the step that fired last paged, also when the limits held back every page of it.
alter table incident add column step_user text;
