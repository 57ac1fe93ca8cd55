-- What is sent with a check may be a secret: headers, queries, bodies. The whole target is sealed from here on, and `target` keeps what
-- everybody may see who may see the monitor.

-- Null: an earlier release wrote the row, and `target` is whole until a task seals it (uptime.seal-targets).
alter table monitor add column sealed bytea;
create index monitor_unsealed on monitor (id) where sealed is null;

-- A server of an earlier release may still run beside us, and knows nothing of the column: what it writes voids the seal, instead of
-- standing beside another target that is sealed.
create function void_seal() returns trigger language plpgsql as $$
begin
  new.sealed := null;
  return new;
end
$$;
create trigger void_seal before update of target on monitor for each row
  when (new.target is distinct from old.target and new.sealed is not distinct from old.sealed)
  execute function void_seal();

-- Answers that are kept for repeated requests told it all.
update kernel.idempotency set answer = null where route = 'POST /api/v1/uptime/monitors';
