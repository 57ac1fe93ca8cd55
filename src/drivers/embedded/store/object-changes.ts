import Type, { type Static } from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';
import { sql } from '../../../kernel/sql.ts';
import type { ObjectKey } from './objects.ts';
import { changeSealContext, type ObjectStore, openBody, SealedBody, sealBody } from './sealed-bodies.ts';

const StoredRow = Type.Object({
  version: Type.Integer(),
  type: Type.Union([Type.Literal('ADDED'), Type.Literal('MODIFIED'), Type.Literal('DELETED')]),
  resource: Type.String(),
  namespace: Type.String(),
  name: Type.String(),
  was: Type.Union([Type.String(), Type.Null()]),
  body: Type.String(),
  sealed: SealedBody,
});
/** A change, with its body unsealed. */
export type ChangeRow = Omit<Static<typeof StoredRow>, 'sealed'>;
const columns = sql`version, type, resource, namespace, name, was, body, sealed`;
const weight = sql`coalesce(bytes, octet_length(body))`;

export interface NewChange extends ObjectKey {
  version: number;
  type: ChangeRow['type'];
  was: string | null;
  bytes: number;
  body: string;
}

export function addChange(tx: Tx, cluster: ObjectStore, c: NewChange) {
  const { body, sealed } = sealBody(cluster, c, changeSealContext(cluster, c));
  return run(tx)`
    insert into clusters.object_change (org_id, cluster_id, version, type, resource, namespace, name, was, bytes, body, sealed)
    values (${cluster.org}, ${cluster.id}, ${c.version}, ${c.type}, ${c.resource}, ${c.namespace}, ${c.name}, ${c.was}, ${c.bytes}, ${body}, ${sealed})`;
}

/** Changes after a version, oldest first; of one resource, or of all. */
export async function listChanges(
  tx: Tx,
  cluster: ObjectStore,
  { after, resource, limit, bytes }: { after: number; resource: string | undefined; limit: number; bytes: number },
): Promise<ChangeRow[]> {
  const stored = await rows(tx, StoredRow)`
    select ${columns} from (
      select ${columns}, sum(${weight}) over (order by version) - ${weight} as before from (
        select ${columns}, bytes from clusters.object_change
         where cluster_id = ${cluster.id} and version > ${after} and ${resource === undefined ? sql`true` : sql`resource = ${resource}`}
         order by version limit ${limit}) found) counted
     where before < ${bytes} order by version`;
  return stored.map((one) => openBody(cluster, one, (of) => changeSealContext(cluster, of)));
}

const CutRow = Type.Object({ cut: Type.Union([Type.Integer(), Type.Null()]) });

/** The newest change to delete: it exceeds the number or the bytes to keep. Null: none does. */
export const findTrimVersion = async (tx: Tx, cluster: string, keep: { changes: number; bytes: number }): Promise<number | null> =>
  (await row(tx, CutRow)`
    select max(version) as cut from (
      select version, row_number() over newest as place, sum(${weight}) over newest as bytes
        from clusters.object_change where cluster_id = ${cluster} window newest as (order by version desc)) counted
     where place > ${keep.changes} or bytes > ${keep.bytes}`)!.cut;

const ForgottenRow = Type.Object({ bytes: Type.Integer() });

/** Deletes changes up to this version, and records that version for watches. */
export const trimChanges = (tx: Tx, cluster: string, upTo: number) => row(tx, ForgottenRow)`
  with gone as (delete from clusters.object_change where cluster_id = ${cluster} and version <= ${upTo} returning ${weight} as bytes),
       moved as (update clusters.object_space
                    set oldest = greatest(oldest, ${upTo}), log_bytes = log_bytes - (select coalesce(sum(bytes), 0) from gone)
                  where cluster_id = ${cluster} returning 1)
  select coalesce(sum(bytes), 0)::bigint as bytes from gone`;
