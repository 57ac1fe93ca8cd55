import Type, { type Static } from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';
import { sql } from '../../../kernel/sql.ts';
import type { Place } from './objects.ts';

const ChangeRow = Type.Object({
  version: Type.Integer(),
  type: Type.Union([Type.Literal('ADDED'), Type.Literal('MODIFIED'), Type.Literal('DELETED')]),
  resource: Type.String(),
  namespace: Type.String(),
  name: Type.String(),
  was: Type.Union([Type.String(), Type.Null()]),
  body: Type.String(),
});
export type ChangeRow = Static<typeof ChangeRow>;
const columns = sql`version, type, resource, namespace, name, was, body`;

export interface NewChange extends Place {
  version: number;
  type: ChangeRow['type'];
  was: string | null;
  body: string;
}

export const addChange = (tx: Tx, org: string, cluster: string, c: NewChange) => run(tx)`
  insert into clusters.object_change (org_id, cluster_id, version, type, resource, namespace, name, was, body)
  values (${org}, ${cluster}, ${c.version}, ${c.type}, ${c.resource}, ${c.namespace}, ${c.name}, ${c.was}, ${c.body})`;

/** Changes behind a version, oldest first; of one kind, or of all. */
export const listChanges = (
  tx: Tx,
  cluster: string,
  { after, resource, most, bytes }: { after: number; resource: string | undefined; most: number; bytes: number },
) => rows(tx, ChangeRow)`
  select ${columns} from (
    select ${columns}, sum(octet_length(body)) over (order by version) - octet_length(body) as before from (
      select ${columns} from clusters.object_change
       where cluster_id = ${cluster} and version > ${after} and ${resource === undefined ? sql`true` : sql`resource = ${resource}`}
       order by version limit ${most}) found) counted
   where before < ${bytes} order by version`;

const CutRow = Type.Object({ cut: Type.Union([Type.Integer(), Type.Null()]) });

/** The newest change that is to be forgotten: beyond so many, or so many bytes. */
export const findCut = async (tx: Tx, cluster: string, keep: { changes: number; bytes: number }): Promise<number | null> =>
  (await row(tx, CutRow)`
    select max(version) as cut from (
      select version, row_number() over newest as place, sum(octet_length(body)) over newest as bytes
        from clusters.object_change where cluster_id = ${cluster} window newest as (order by version desc)) counted
     where place > ${keep.changes} or bytes > ${keep.bytes}`)!.cut;

const ForgottenRow = Type.Object({ bytes: Type.Integer() });

/** Forgets changes up to this one, and says so where watches look. */
export const forgetChanges = (tx: Tx, cluster: string, upTo: number) => row(tx, ForgottenRow)`
  with gone as (delete from clusters.object_change where cluster_id = ${cluster} and version <= ${upTo} returning octet_length(body) as bytes),
       moved as (update clusters.object_space
                    set oldest = greatest(oldest, ${upTo}), log_bytes = log_bytes - (select coalesce(sum(bytes), 0) from gone)
                  where cluster_id = ${cluster} returning 1)
  select coalesce(sum(bytes), 0)::bigint as bytes from gone`;
