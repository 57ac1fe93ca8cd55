-- Servers of an earlier release that still run beside us, once more.
drop trigger void_seal on monitor;

-- Their probers must leave tcp monitors alone too, instead of checking them without what they send and expect. See `storedTarget`.
update monitor set target = target || '{"sendBase64": []}' where kind = 'tcp' and sealed is not null;

-- A monitor that they delete needs its secrets no more, and neither does one that they have deleted: its seal goes, and the task
-- uptime.seal-targets seals what everybody may see. We write another seal when we delete.
update monitor set sealed = null where deleted_at is not null;
create trigger void_seal before update of target, deleted_at on monitor for each row
  when ((new.target is distinct from old.target or new.deleted_at is distinct from old.deleted_at) and new.sealed is not distinct from old.sealed)
  execute function void_seal();
