-- While more is due than can be run, organizations are served in turn: the index leads from one to the next, and within each from its
-- oldest job on. Jobs of nobody stand under '-', which sorts before every organization.
create index job_due_by_org on job (lane, coalesce(org_id, '-'), run_at, id, kind) where dead_at is null;
