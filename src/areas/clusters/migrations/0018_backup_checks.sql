-- The size of a copy, and checks of backups that wait.

alter table clusters.backup
  add column content_bytes bigint, -- of the copy before it was compressed; null: an earlier release made it
  add column check_postponed_at timestamptz(3), -- when its check last found no room
  add column check_postponed text; -- why; null once it was checked
