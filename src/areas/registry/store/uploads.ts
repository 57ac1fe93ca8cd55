import Type, { type Static } from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';
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

/** Rows of uploads are not waited for on disk: beside gigabytes of layers a sync takes its time, and should PostgreSQL itself crash,
 *  an upload of the last moment is simply unknown and is started again. What an upload becomes is committed as everything else. */
const unhurried = sql`(select set_config('synchronous_commit', 'off', true)) unhurried`;

/** What an upload takes before its first byte: a row and a file. */
export const leastReserved = 65_536;
/** Where little is left it takes a sixteenth of that, and never less than this: otherwise what is full would take uploads without end. */
export const smallestReserved = 512;
/** So many may be open in a registry at once. */
export const mostOpen = 1_000;

interface NewUpload {
  id: string;
  org: string;
  repositoryId: number;
  node: string;
  keyId: string;
  ttlSeconds: number;
}

const BegunRow = Type.Object({ ...QuotaRow.properties, open: Type.Integer(), reserved: Type.Union([Type.Integer(), Type.Null()]) });

/** Reserves the least room for it, as long as that is not a large part of what is left. The locks come in the order of all others: the
 *  repository, then the registry. Undefined: they are gone. `reserved` null: there is no room for the
 *  `least` bytes, or too many are open. */
export const insertUpload = (tx: Tx, u: NewUpload, least: number) => row(tx, BegunRow)`
  with place as (
    select id, registry_id from registry.repository where id = ${u.repositoryId} and removed_from is null for key share
  ), room as (
    select g.id, g.quota_bytes, g.used_bytes, g.reserved_bytes, g.quota_bytes - g.used_bytes - g.reserved_bytes as free,
           (select count(*) from (select from registry.upload o where o.registry_id = g.id limit ${mostOpen}) counted)::int as open
      from registry.registry g where g.id = (select registry_id from place) for no key update
  ), taken as (
    update registry.registry g set reserved_bytes = g.reserved_bytes + least(${leastReserved}, greatest(${least}, room.free / 16))
      from room where g.id = room.id and (${least} = 0 or room.free >= ${least}) and room.open < ${mostOpen}
    returning g.id, least(${leastReserved}, greatest(${least}, room.free / 16)) as bytes
  ), begun as (
    insert into registry.upload (id, org_id, repository_id, registry_id, storage_id, node, key_id, reserved, created_at, expires_at)
    select ${u.id}, ${u.org}, ${u.repositoryId}, taken.id, ${u.id}, ${u.node}, ${u.keyId}, taken.bytes, kernel.now(), kernel.now() + make_interval(secs => ${u.ttlSeconds})
      from taken, ${unhurried}
    returning reserved
  )
  select room.quota_bytes, room.used_bytes, room.reserved_bytes, room.open, begun.reserved from room left join begun on true`;

/** For bytes that an upstream sends: the room for them is reserved already. */
export const insertFill = (tx: Tx, u: NewUpload & { reserved: number }) => run(tx)`
  insert into registry.upload (id, org_id, repository_id, storage_id, node, key_id, reserved, created_at, expires_at)
  select ${u.id}, ${u.org}, ${u.repositoryId}, ${u.id}, ${u.node}, ${u.keyId}, ${u.reserved}, kernel.now(), kernel.now() + make_interval(secs => ${u.ttlSeconds})
    from ${unhurried}`;

/** An upload of this repository that this node can go on with; none once the repository is being removed. */
export const uploadOf = (tx: Tx, repositoryId: number, id: string, node: string) => row(tx, UploadRow)`
  select u.id, u.repository_id, r.registry_id, u.node, u.reserved
    from registry.upload u join registry.repository r on r.id = u.repository_id
   where u.id = ${id} and u.repository_id = ${repositoryId} and u.node = ${node} and u.expires_at > kernel.now() and r.removed_from is null`;

/** What a slow sender keeps alive by sending. 0: it is gone. */
export const keepUpload = (tx: Tx, id: string, ttlSeconds: number) => run(tx)`
  update registry.upload set expires_at = kernel.now() + make_interval(secs => ${ttlSeconds}) from ${unhurried} where id = ${id}`;

/** Has it expire now. A sender who is at it this moment keeps it alive. */
export const endUpload = (tx: Tx, id: string) => run(tx)`update registry.upload set expires_at = kernel.now() where id = ${id}`;

interface Writing {
  id: string;
  /** A process. */
  writer: string;
  seconds: number;
}

const BeforeRow = Type.Object({ before: Type.Union([Type.String(), Type.Null()]) });

/** Lets one process alone write to the upload for so long; `before`: which one wrote last. Undefined: another one is writing. */
export const claimWriter = (tx: Tx, { id, writer, over, seconds }: Writing & { over: string | null }) => row(tx, BeforeRow)`
  with known as (select id, writer, writer_until from registry.upload where id = ${id} for update)
  update registry.upload u set writer = ${writer}, writer_until = kernel.now() + make_interval(secs => ${seconds}) from known, ${unhurried}
   where u.id = known.id and (known.writer is null or known.writer in (${writer}, ${over}) or known.writer_until <= kernel.now())
  returning known.writer as before`;

/** Who holds the right to write to the upload, or held it last. */
export const writerOf = async (tx: Tx, id: string): Promise<string | null> =>
  (await row(tx, Type.Object({ writer: Type.Union([Type.String(), Type.Null()]) }))`select writer from registry.upload where id = ${id}`)
    ?.writer ?? null;

/** 0: another one may write by now, or the upload is gone. */
export const renewWriter = (tx: Tx, { id, writer, seconds }: Writing) => run(tx)`
  update registry.upload set writer_until = kernel.now() + make_interval(secs => ${seconds}) from ${unhurried} where id = ${id} and writer = ${writer}`;

export const releaseWriter = (tx: Tx, id: string, writer: string) => run(tx)`
  update registry.upload set writer_until = kernel.now() from ${unhurried} where id = ${id} and writer = ${writer}`;

/** The same for a sender who will send more: the upload waits anew. 0: it is gone. */
export const releaseKept = (tx: Tx, id: string, writer: string, ttlSeconds: number) => run(tx)`
  update registry.upload set expires_at = kernel.now() + make_interval(secs => ${ttlSeconds}),
         writer_until = case when writer = ${writer} then kernel.now() else writer_until end from ${unhurried} where id = ${id}`;

/** Its row, gone: how much it had reserved. */
export const takeUpload = (tx: Tx, id: string) => row(tx, Type.Object({ reserved: Type.Integer() }))`
  delete from registry.upload where id = ${id} returning reserved`;

export const addReservation = (tx: Tx, id: string, bytes: number) =>
  run(tx)`update registry.upload set reserved = reserved + ${bytes} where id = ${id}`;

/** How many bytes of this digest the registry holds already, if it does. */
export const heldSize = async (tx: Tx, registryId: string, digest: string) =>
  (
    await row(tx, Type.Object({ size: Type.Integer() }))`
    select b.size from registry.blob b
     where b.digest = ${digest} and b.state = 'live'
       and exists (select from registry.repository_blob l where l.blob_id = b.id and l.registry_id = ${registryId})`
  )?.size;

/** Uploads that nobody continues any more, of this node: only it can reach their bytes. */
export const expiredUploads = (tx: Tx, node: string, limit: number) => rows(tx, UploadRow)`
  select u.id, u.repository_id, coalesce(r.registry_id, r.removed_from) as registry_id, u.node, u.reserved
    from registry.upload u join registry.repository r on r.id = u.repository_id
   where u.expires_at <= kernel.now() and u.node = ${node} order by u.expires_at limit ${limit}`;

/** Of other nodes, expired for a week. */
export const forgottenUploads = (tx: Tx, node: string, limit: number) => rows(tx, UploadRow)`
  select u.id, u.repository_id, coalesce(r.registry_id, r.removed_from) as registry_id, u.node, u.reserved
    from registry.upload u join registry.repository r on r.id = u.repository_id
   where u.expires_at <= kernel.now() - interval '7 days' and u.node <> ${node} order by u.expires_at limit ${limit}`;
