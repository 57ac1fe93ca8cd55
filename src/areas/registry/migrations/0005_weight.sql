-- What a manifest's rows weigh in the quota: its bytes, its annotations and its references, in every repository in which it stands.
-- Null: from before this, and booked as before, by its size once in the registry. A task weighs those, some at a time.
alter table manifest add column weight int;
create index manifest_unweighed on manifest (id) where weight is null;
