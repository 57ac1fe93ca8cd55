import Type, { type Static } from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';

export const QuotaRow = Type.Object({ quota_bytes: Type.Integer(), used_bytes: Type.Integer(), reserved_bytes: Type.Integer() });
export type Quota = Static<typeof QuotaRow>;

export const quotaOf = (tx: Tx, registryId: string) => row(tx, QuotaRow)`
  select quota_bytes, used_bytes, reserved_bytes from registry.registry where id = ${registryId}`;

/** The figures of a registry, with its row locked. */
export const lockQuota = (tx: Tx, registryId: string) => row(tx, QuotaRow)`
  select quota_bytes, used_bytes, reserved_bytes from registry.registry where id = ${registryId} for no key update`;

export const addReserved = (tx: Tx, registryId: string, bytes: number) =>
  run(tx)`update registry.registry set reserved_bytes = reserved_bytes + ${bytes} where id = ${registryId}`;

export const subtractReserved = (tx: Tx, registryId: string, bytes: number) =>
  run(tx)`update registry.registry set reserved_bytes = greatest(0, reserved_bytes - ${bytes}) where id = ${registryId}`;

/** `used` is added, `reserved` is released. */
export const changeFigures = (tx: Tx, registryId: string, { used, reserved }: { used: number; reserved: number }) => run(tx)`
    update registry.registry set used_bytes = greatest(0, used_bytes + ${used}), reserved_bytes = greatest(0, reserved_bytes - ${reserved})
     where id = ${registryId}`;

/**
 * The difference between counting and the stored figures. One statement sees both at the same moment and needs no lock. The content of
 * removed repositories counts until its batch is deleted.
 */
export const countDrift = (tx: Tx, registryId: string) => row(tx, Type.Object({ used: Type.Integer(), reserved: Type.Integer() }))`
    select (select coalesce(sum(b.size), 0) from registry.blob b
             where b.id in (select blob_id from registry.repository_blob where registry_id = ${registryId}))::bigint
         + (select coalesce(sum(m.weight), 0) from registry.manifest m join registry.repository r on r.id = m.repository_id
             where (r.registry_id = ${registryId} or r.removed_from = ${registryId}))::bigint
         + (select coalesce(sum(size), 0) from (select distinct on (m.digest) m.size
              from registry.manifest m join registry.repository r on r.id = m.repository_id
             where (r.registry_id = ${registryId} or r.removed_from = ${registryId}) and m.weight is null) d)::bigint - g.used_bytes as used,
           (select coalesce(sum(u.reserved), 0) from registry.upload u join registry.repository r on r.id = u.repository_id
             where (r.registry_id = ${registryId} or r.removed_from = ${registryId}))::bigint - g.reserved_bytes as reserved
      from registry.registry g where g.id = ${registryId}`;

const UsageRow = Type.Object({ slug: Type.String(), ...QuotaRow.properties });

/** The figures of all registries, for the metrics. */
export const usageOfAll = (tx: Tx) => rows(tx, UsageRow)`select slug, used_bytes, quota_bytes, reserved_bytes from registry.registry`;

/** Days that are kept, and that can be asked for. */
export const usageDays = 400;

const LastRow = Type.Object({ id: Type.Union([Type.String(), Type.Null()]), noted: Type.Integer() });

/** Notes today's figures of the next registries by id; where to go on, and how many there were. A later note of the day replaces this one. */
export const noteUsage = async (tx: Tx, after: string, limit: number): Promise<Static<typeof LastRow>> =>
  (await row(tx, LastRow)`
    with batch as materialized (
      select org_id, id, used_bytes, quota_bytes from registry.registry where id > ${after} order by id limit ${limit}),
    noted as (
      insert into registry.usage_day (org_id, registry_id, day, used_bytes, quota_bytes)
      select org_id, id, (kernel.now() at time zone 'UTC')::date, used_bytes, quota_bytes from batch
      on conflict (registry_id, day) do update set used_bytes = excluded.used_bytes, quota_bytes = excluded.quota_bytes)
    select max(id) as id, count(*)::int as noted from batch`)!;

/** Some of the days that are past their retention; how many. */
export const dropOldUsage = (tx: Tx, limit: number) => run(tx)`
  delete from registry.usage_day where ctid in (
    select ctid from registry.usage_day
     where day < ((select kernel.now()) at time zone 'UTC')::date - ${usageDays}::int limit ${limit} for update skip locked)`;

const DayRow = Type.Object({ day: Type.String(), used_bytes: Type.Integer(), quota_bytes: Type.Integer() });
export type DayRow = Static<typeof DayRow>;

/** Oldest first, today included. */
export const usageByDay = (tx: Tx, registryId: string, days: number) => rows(tx, DayRow)`
  select day::text, used_bytes, quota_bytes from registry.usage_day
   where registry_id = ${registryId} and day > ((select kernel.now()) at time zone 'UTC')::date - ${days}::int order by day`;
