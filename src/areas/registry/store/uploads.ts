import Type, { type Static } from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';
import { channelNamed } from '../../../kernel/jobs/index.ts';
import { sql } from '../../../kernel/sql.ts';
import { QuotaRow } from './quota.ts';

const UploadRow = Type.Object({
  id: Type.String(),
  repository_id: Type.Integer(),
  registry_id: Type.String(),
  node: Type.String(),
  reserved: Type.Integer(),
});
export type UploadRow = Static<typeof UploadRow>;

/** The task that deletes expired uploads. */
export const expireTask = channelNamed('registry.expire-uploads');

/**
 * Upload rows are committed without waiting for the disk: a sync is slow beside gigabytes of layers. If PostgreSQL crashes, the newest
 * uploads are unknown and clients start again. The resulting blob is committed durably.
 */
const withAsyncCommit = sql`(select set_config('synchronous_commit', 'off', true)) unhurried`;

/** Reservation for a row and a file, before the first byte. */
export const initialReservationBytes = 65_536;
/**
 * If little quota is left, the initial reservation is a sixteenth of it, but at least this. Otherwise a full registry would accept uploads
 * without end.
 */
export const minReservationBytes = 512;
/** Limit on open uploads. */
export const maxOpenUploadsPerRegistry = 1_000;

interface NewUpload {
  id: string;
  org: string;
  repositoryId: number;
  node: string;
  keyId: string;
  ttlSeconds: number;
}

const BegunRow = Type.Object({ ...QuotaRow.properties, open: Type.Integer(), reserved: Type.Union([Type.Integer(), Type.Null()]) });

/**
 * Inserts an upload with its initial reservation. Lock order: repository, then registry. Undefined: they are gone. `reserved` null: not
 * enough quota for `minBytes`, or too many open uploads.
 */
export const insertUpload = (tx: Tx, u: NewUpload, minBytes: number) => row(tx, BegunRow)`
  with place as (
    select id, registry_id from registry.repository where id = ${u.repositoryId} and removed_from is null for key share
  ), room as (
    select g.id, g.quota_bytes, g.used_bytes, g.reserved_bytes, g.quota_bytes - g.used_bytes - g.reserved_bytes as free,
           (select count(*) from (select from registry.upload o where o.registry_id = g.id limit ${maxOpenUploadsPerRegistry}) counted)::int as open
      from registry.registry g where g.id = (select registry_id from place) for no key update
  ), taken as (
    update registry.registry g set reserved_bytes = g.reserved_bytes + least(${initialReservationBytes}, greatest(${minBytes}, room.free / 16))
      from room where g.id = room.id and (${minBytes} = 0 or room.free >= ${minBytes}) and room.open < ${maxOpenUploadsPerRegistry}
    returning g.id, least(${initialReservationBytes}, greatest(${minBytes}, room.free / 16)) as bytes
  ), begun as (
    insert into registry.upload (id, org_id, repository_id, registry_id, storage_id, node, key_id, reserved, created_at, expires_at)
    select ${u.id}, ${u.org}, ${u.repositoryId}, taken.id, ${u.id}, ${u.node}, ${u.keyId}, taken.bytes, kernel.now(), kernel.now() + make_interval(secs => ${u.ttlSeconds})
      from taken, ${withAsyncCommit}
    returning reserved
  )
  select room.quota_bytes, room.used_bytes, room.reserved_bytes, room.open, begun.reserved from room left join begun on true`;

/** For bytes of an upstream, whose quota is already reserved. */
export const insertFill = (tx: Tx, u: NewUpload & { reserved: number }) => run(tx)`
  insert into registry.upload (id, org_id, repository_id, storage_id, node, key_id, reserved, created_at, expires_at)
  select ${u.id}, ${u.org}, ${u.repositoryId}, ${u.id}, ${u.node}, ${u.keyId}, ${u.reserved}, kernel.now(), kernel.now() + make_interval(secs => ${u.ttlSeconds})
    from ${withAsyncCommit}`;

/** An upload that this node can continue; none while the repository is being removed. */
export const uploadOf = (tx: Tx, repositoryId: number, id: string, node: string) => row(tx, UploadRow)`
  select u.id, u.repository_id, r.registry_id, u.node, u.reserved
    from registry.upload u join registry.repository r on r.id = u.repository_id
   where u.id = ${id} and u.repository_id = ${repositoryId} and u.node = ${node} and u.expires_at > kernel.now() and r.removed_from is null`;

// An ended upload stays in the table until its bytes are deleted, and its reservation with it. Its write lease is taken for ever, so no
// request extends it or writes to it again. It expires when the last writer must have noticed.
const isOpen = sql`writer_until is distinct from 'infinity'`;
const taken = sql`writer = 'ended', writer_until = 'infinity'`;

/** Postpones the expiry while bytes arrive. 0: the upload has ended. */
export const extendUpload = (tx: Tx, id: string, ttlSeconds: number) => run(tx)`
  update registry.upload set expires_at = kernel.now() + make_interval(secs => ${ttlSeconds}) from ${withAsyncCommit} where id = ${id} and ${isOpen}`;

/** Ends an upload. True: a request is still writing to it, so its bytes are deleted by the task. */
export const endUpload = async (tx: Tx, id: string): Promise<boolean> =>
  (
    await row(tx, Type.Object({ is_written: Type.Boolean() }))`
    update registry.upload set expires_at = greatest(kernel.now(), writer_until), ${taken} where id = ${id} and ${isOpen}
    returning expires_at > kernel.now() as is_written`
  )?.is_written ?? false;

/** A request that sends a whole blob has no lease. It notices within this time that its upload has ended. */
export const maxExtensionIntervalSeconds = 60;

/**
 * Ends the pushed uploads of a repository: at most `maxOpenUploadsPerRegistry`. Downloads into the cache end by themselves and then release
 * their rows. Returns their number.
 */
export const endUploadsOf = (tx: Tx, repositoryId: number) => run(tx)`
  update registry.upload
     set expires_at = greatest(kernel.now(), coalesce(writer_until, kernel.now() + make_interval(secs => ${maxExtensionIntervalSeconds}))), ${taken}
   where repository_id = ${repositoryId} and registry_id is not null and ${isOpen}`;

export const hasUploads = async (tx: Tx, repositoryId: number): Promise<boolean> =>
  (await run(tx)`select from registry.upload where repository_id = ${repositoryId} limit 1`) > 0;

interface WriteClaim {
  id: string;
  /** The name of the process. */
  writer: string;
  seconds: number;
}

const BeforeRow = Type.Object({ before: Type.Union([Type.String(), Type.Null()]) });

/**
 * Takes the write lease. `before`: the previous writer. `deadWriter`: a writer known to be dead, whose lease is ignored. Undefined: another
 * process holds the lease.
 */
export const claimWriter = (tx: Tx, { id, writer, deadWriter, seconds }: WriteClaim & { deadWriter: string | null }) => row(tx, BeforeRow)`
  with known as (select id, writer, writer_until from registry.upload where id = ${id} for update)
  update registry.upload u set writer = ${writer}, writer_until = kernel.now() + make_interval(secs => ${seconds}) from known, ${withAsyncCommit}
   where u.id = known.id and (known.writer is null or known.writer in (${writer}, ${deadWriter}) or known.writer_until <= kernel.now())
  returning known.writer as before`;

/** The holder of the write lease, current or last. */
export const writerOf = async (tx: Tx, id: string): Promise<string | null> =>
  (await row(tx, Type.Object({ writer: Type.Union([Type.String(), Type.Null()]) }))`select writer from registry.upload where id = ${id}`)
    ?.writer ?? null;

/** 0: another process may write, or the upload is gone. */
export const renewWriter = (tx: Tx, { id, writer, seconds }: WriteClaim) => run(tx)`
  update registry.upload set writer_until = kernel.now() + make_interval(secs => ${seconds}) from ${withAsyncCommit} where id = ${id} and writer = ${writer}`;

export const releaseWriter = (tx: Tx, id: string, writer: string) => run(tx)`
  update registry.upload set writer_until = kernel.now() from ${withAsyncCommit} where id = ${id} and writer = ${writer}`;

/** Releases the lease and postpones the expiry, for a client that sends more. 0: the upload has ended. */
export const releaseWriterAndExtend = (tx: Tx, id: string, writer: string, ttlSeconds: number) => run(tx)`
  update registry.upload set expires_at = kernel.now() + make_interval(secs => ${ttlSeconds}),
         writer_until = case when writer = ${writer} then kernel.now() else writer_until end from ${withAsyncCommit} where id = ${id} and ${isOpen}`;

/** Deletes the row. Returns its reservation. */
export const deleteUpload = (tx: Tx, id: string) => row(tx, Type.Object({ reserved: Type.Integer() }))`
  delete from registry.upload where id = ${id} returning reserved`;

export const addReservation = (tx: Tx, id: string, bytes: number) =>
  run(tx)`update registry.upload set reserved = reserved + ${bytes} where id = ${id}`;

/** The size of this digest in the registry, if it has it. */
export const heldSize = async (tx: Tx, registryId: string, digest: string) =>
  (
    await row(tx, Type.Object({ size: Type.Integer() }))`
    select b.size from registry.blob b
     where b.digest = ${digest} and b.state = 'live'
       and exists (select from registry.repository_blob l where l.blob_id = b.id and l.registry_id = ${registryId})`
  )?.size;

/** Expired uploads of this node, which alone can reach their bytes, except `skipped`. */
export const expiredUploads = (tx: Tx, node: string, skipped: readonly string[], limit: number) => rows(tx, UploadRow)`
  select u.id, u.repository_id, coalesce(r.registry_id, r.removed_from) as registry_id, u.node, u.reserved
    from registry.upload u join registry.repository r on r.id = u.repository_id
   where u.expires_at <= kernel.now() and u.node = ${node} and u.id <> all(${skipped}::text[]) order by u.expires_at limit ${limit}`;

/** Uploads of other nodes that expired a week ago. */
export const abandonedUploads = (tx: Tx, node: string, limit: number) => rows(tx, UploadRow)`
  select u.id, u.repository_id, coalesce(r.registry_id, r.removed_from) as registry_id, u.node, u.reserved
    from registry.upload u join registry.repository r on r.id = u.repository_id
   where u.expires_at <= kernel.now() - interval '7 days' and u.node <> ${node} order by u.expires_at limit ${limit}`;
