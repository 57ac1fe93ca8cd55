import Type, { type Static } from 'typebox';
import type { Sealed } from '../../areas/area.ts';
import { row, rows, run, type Tx } from '../../kernel/db/index.ts';
import { Sql, sql } from '../../kernel/sql.ts';

/** Names of tables and columns come from the areas' own declarations. */
const named = (text: string) => new Sql([text], []);

/** Not sealed with this key: byte 1 is the length of the key's id, which follows it. */
const otherKey = ({ column }: Sealed, keyId: string) =>
  sql`${named(column)} is not null and substring(${named(column)} from 3 for get_byte(${named(column)}, 1)) <> ${Buffer.from(keyId)}`;

const SealedRow = Type.Object({ id: Type.String(), sealed: Type.Unsafe<Buffer>({}) });

/** Some values of a column that another key than this one seals; those that somebody changes at this moment are left out. */
export const lockOtherwiseSealed = (tx: Tx, where: Sealed, keyId: string, limit: number): Promise<Static<typeof SealedRow>[]> =>
  rows(tx, SealedRow)`
    select ${named(where.id)}::text as id, ${named(where.column)} as sealed from ${named(where.table)} where ${otherKey(where, keyId)}
     limit ${limit} for update skip locked`;

export const updateSealed = (tx: Tx, { table, column, id }: Sealed, of: string, sealed: Buffer) =>
  run(tx)`update ${named(table)} set ${named(column)} = ${sealed} where ${named(id)}::text = ${of}`;

const LeftRow = Type.Object({ left: Type.Boolean() });

export const hasOtherwiseSealed = async (tx: Tx, where: Sealed, keyId: string): Promise<boolean> =>
  (await row(tx, LeftRow)`select exists (select from ${named(where.table)} where ${otherKey(where, keyId)}) as left`)!.left;

const XidRow = Type.Object({ xid: Type.String() });

/** The id of this transaction: every one that writes from now on has a greater one. */
export const currentXid = async (tx: Tx): Promise<string> => (await row(tx, XidRow)`select pg_current_xact_id()::text as xid`)!.xid;

const EndedRow = Type.Object({ ended: Type.Boolean() });

/** Whether all transactions up to this one have ended. */
export const haveEndedBefore = async (tx: Tx, xid: string): Promise<boolean> =>
  (await row(tx, EndedRow)`select pg_snapshot_xmin(pg_current_snapshot()) > ${xid}::xid8 as ended`)!.ended;

const CanaryRow = Type.Object({ sealed: Type.Unsafe<Buffer>({}) });

/** A value that the key of this installation opens. */
export const canaryOf = async (tx: Tx): Promise<Buffer> => (await row(tx, CanaryRow)`select sealed from kernel.canary`)!.sealed;
