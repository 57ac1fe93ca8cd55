import Type, { type Static } from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';
import { sql } from '../../../kernel/sql.ts';
import { type ObjectStore, objectSealContext, openBody, SealedBody, sealBody } from './sealed-bodies.ts';

// Objects of embedded clusters. Statements filter by cluster id alone: only code that was given the cluster knows its id.

const SpaceRow = Type.Object({
  version: Type.Integer(),
  oldest: Type.Integer(),
  objects: Type.Integer(),
  bytes: Type.Integer(),
  log_bytes: Type.Integer(),
  rbac_version: Type.Integer(),
  prepared: Type.Integer(),
  now: Type.String(),
});
export type SpaceRow = Static<typeof SpaceRow>;
const space = sql`version, oldest, objects, bytes, log_bytes, rbac_version, prepared, kernel.now() as now`;

export const makeSpace = (tx: Tx, org: string, cluster: string) => run(tx)`
  insert into clusters.object_space (org_id, cluster_id) values (${org}, ${cluster}) on conflict do nothing`;

export const readSpace = (tx: Tx, cluster: string) =>
  row(tx, SpaceRow)`select ${space} from clusters.object_space where cluster_id = ${cluster}`;

/** Locks the cluster for writing until the transaction ends. */
export const lockSpace = (tx: Tx, cluster: string) =>
  row(tx, SpaceRow)`select ${space} from clusters.object_space where cluster_id = ${cluster} for update`;

export interface SpaceChange {
  version: number;
  objects: number;
  bytes: number;
  logBytes: number;
  touchesRbac: boolean;
}

export const advanceSpace = (tx: Tx, cluster: string, { version, objects, bytes, logBytes, touchesRbac }: SpaceChange) => run(tx)`
  update clusters.object_space
     set version = ${version}, objects = objects + ${objects}::int, bytes = bytes + ${bytes}::bigint, log_bytes = log_bytes + ${logBytes}::bigint,
         rbac_version = case when ${touchesRbac} then ${version} else rbac_version end
   where cluster_id = ${cluster}`;

export const markPrepared = (tx: Tx, cluster: string, prepared: number) =>
  run(tx)`update clusters.object_space set prepared = ${prepared} where cluster_id = ${cluster}`;

/** The primary key of an object, beside its cluster. */
export interface ObjectKey {
  resource: string;
  namespace: string;
  name: string;
}

const StoredRow = Type.Object({
  resource: Type.String(),
  namespace: Type.String(),
  name: Type.String(),
  version: Type.Integer(),
  bytes: Type.Integer(),
  body: Type.String(),
  sealed: SealedBody,
});
type StoredRow = Static<typeof StoredRow>;
/** An object, with its body unsealed. */
export type ObjectRow = Omit<StoredRow, 'sealed'>;
const columns = sql`resource, namespace, name, version, bytes, body, sealed`;

const openRow = (space: ObjectStore, stored: StoredRow): ObjectRow => openBody(space, stored, (of) => objectSealContext(space, of));
const openRows = async (space: ObjectStore, stored: Promise<StoredRow[]>): Promise<ObjectRow[]> =>
  (await stored).map((row) => openRow(space, row));

export async function readObject(tx: Tx, cluster: ObjectStore, { resource, namespace, name }: ObjectKey): Promise<ObjectRow | undefined> {
  const stored = await row(tx, StoredRow)`
    select ${columns} from clusters.object
     where cluster_id = ${cluster.id} and resource = ${resource} and namespace = ${namespace} and name = ${name}`;
  return stored && openRow(cluster, stored);
}

export interface Page {
  resource: string;
  /** Undefined: all namespaces. */
  namespace: string | undefined;
  /** Only the object with this name. */
  name: string | undefined;
  /** Only objects after this key. */
  after: { namespace: string; name: string } | undefined;
  /** Limits: rows that are read, and about as many bytes that are returned. */
  rows: number;
  bytes: number;
}

/** The next objects in key order, limited by rows and bytes. */
export const listObjects = (tx: Tx, cluster: ObjectStore, { resource, namespace, name, after, rows: limit, bytes }: Page) =>
  openRows(
    cluster,
    rows(tx, StoredRow)`
  select ${columns} from (
    select ${columns}, sum(bytes) over (order by namespace, name) - bytes as before from (
      select ${columns} from clusters.object
       where cluster_id = ${cluster.id} and resource = ${resource}
         and ${namespace === undefined ? sql`true` : sql`namespace = ${namespace}`}
         and ${name === undefined ? sql`true` : sql`name = ${name}`}
         and ${after ? sql`(namespace, name) > (${after.namespace}, ${after.name})` : sql`true`}
       order by namespace, name limit ${limit}) found) counted
   where before < ${bytes} order by namespace, name`,
  );

const VersionRow = Type.Object({ namespace: Type.String(), name: Type.String(), version: Type.Integer() });

/** Keys and versions of all objects of a resource. */
export const listVersions = (tx: Tx, cluster: string, resource: string, limit: number) => rows(tx, VersionRow)`
  select namespace, name, version from clusters.object where cluster_id = ${cluster} and resource = ${resource}
   order by namespace, name limit ${limit}`;

export interface NewObject extends ObjectKey {
  version: number;
  uid: string;
  bytes: number;
  deleting: boolean;
  owners: readonly string[];
  body: string;
}

export function putObject(tx: Tx, cluster: ObjectStore, o: NewObject) {
  const { body, sealed } = sealBody(cluster, o, objectSealContext(cluster, o));
  return run(tx)`
    insert into clusters.object (org_id, cluster_id, resource, namespace, name, version, uid, bytes, deleting, owners, body, sealed)
    values (${cluster.org}, ${cluster.id}, ${o.resource}, ${o.namespace}, ${o.name}, ${o.version}, ${o.uid}, ${o.bytes}, ${o.deleting}, ${o.owners},
            ${body}, ${sealed})
    on conflict (cluster_id, resource, namespace, name) do update
       set version = excluded.version, bytes = excluded.bytes, deleting = excluded.deleting, owners = excluded.owners, body = excluded.body,
           sealed = excluded.sealed`;
}

export const deleteObject = (tx: Tx, cluster: string, { resource, namespace, name }: ObjectKey) => run(tx)`
  delete from clusters.object
   where cluster_id = ${cluster} and resource = ${resource} and namespace = ${namespace} and name = ${name}`;

export const countInNamespace = async (
  tx: Tx,
  cluster: string,
  namespace: string,
  but: string,
): Promise<{ resource: string; n: number }[]> =>
  rows(tx, Type.Object({ resource: Type.String(), n: Type.Integer() }))`
    select resource, count(*)::int as n from clusters.object
     where cluster_id = ${cluster} and namespace = ${namespace} and resource <> ${but} group by resource order by resource`;

/** The number of objects of a resource, and their bytes. */
export const measureKind = async (tx: Tx, cluster: string, resource: string) =>
  (await row(tx, Type.Object({ n: Type.Integer(), bytes: Type.Integer() }))`
    select count(*)::int as n, coalesce(sum(bytes), 0)::bigint as bytes from clusters.object where cluster_id = ${cluster} and resource = ${resource}`)!;

/** Objects in a namespace that are not being deleted yet. */
export const listInNamespace = (tx: Tx, cluster: ObjectStore, namespace: string, limit: number) =>
  openRows(
    cluster,
    rows(tx, StoredRow)`
  select ${columns} from clusters.object
   where cluster_id = ${cluster.id} and namespace = ${namespace} and namespace <> '' and not deleting order by resource, name limit ${limit}`,
  );

/** Objects that are being deleted, after a name. */
export const listDeleting = (tx: Tx, cluster: ObjectStore, resource: string, after: string, limit: number) =>
  openRows(
    cluster,
    rows(tx, StoredRow)`
  select ${columns} from clusters.object where cluster_id = ${cluster.id} and resource = ${resource} and deleting and name > ${after}
   order by name limit ${limit}`,
  );

/** The objects of a resource that were changed longest ago. */
export const listOldest = (tx: Tx, cluster: ObjectStore, resource: string, limit: number) =>
  openRows(
    cluster,
    rows(tx, StoredRow)`
  select ${columns} from clusters.object where cluster_id = ${cluster.id} and resource = ${resource} and not deleting order by version limit ${limit}`,
  );

export const listOwned = (tx: Tx, cluster: ObjectStore, uid: string, limit: number) =>
  openRows(
    cluster,
    rows(tx, StoredRow)`
  select ${columns} from clusters.object
   where cluster_id = ${cluster.id} and owners <> '{}' and owners @> array[${uid}]::text[] and not deleting
   order by resource, namespace, name limit ${limit}`,
  );

export const addDeletedOwner = (tx: Tx, org: string, cluster: string, uid: string) => run(tx)`
  insert into clusters.object_gone_owner (org_id, cluster_id, uid)
  select ${org}, ${cluster}, ${uid}
   where exists (select from clusters.object where cluster_id = ${cluster} and owners <> '{}' and owners @> array[${uid}]::text[])
  on conflict do nothing`;

export const listDeletedOwners = (tx: Tx, cluster: string, limit: number) =>
  rows(tx, Type.Object({ uid: Type.String() }))`select uid from clusters.object_gone_owner where cluster_id = ${cluster} limit ${limit}`;

export const removeDeletedOwner = (tx: Tx, cluster: string, uid: string) =>
  run(tx)`delete from clusters.object_gone_owner where cluster_id = ${cluster} and uid = ${uid}`;

export const hasUid = async (tx: Tx, cluster: string, uids: readonly string[]): Promise<boolean> =>
  (await row(tx, Type.Object({ one: Type.Integer() }))`
    select 1 as one from clusters.object where cluster_id = ${cluster} and uid = any(${uids}::text[]) limit 1`) !== undefined;

/** Deletes everything of a cluster that is torn down. */
export async function removeSpace(tx: Tx, cluster: string): Promise<void> {
  await Promise.all([
    run(tx)`delete from clusters.object where cluster_id = ${cluster}`,
    run(tx)`delete from clusters.object_change where cluster_id = ${cluster}`,
    run(tx)`delete from clusters.object_gone_owner where cluster_id = ${cluster}`,
    run(tx)`delete from clusters.object_space where cluster_id = ${cluster}`,
  ]);
}
