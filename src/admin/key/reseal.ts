import { setTimeout as sleep } from 'node:timers/promises';
import Type from 'typebox';
import type { Sealed } from '../../areas/area.ts';
import { type Db, row, rows, run, type Tx } from '../../kernel/db.ts';
import { exitCodes, Stop } from '../../kernel/errors.ts';
import { type KeyRing, seal, unseal } from '../../kernel/secrets.ts';
import { Sql, sql } from '../../kernel/sql.ts';

const portion = 200;
const patienceMs = 60_000;

const SealedRow = Type.Object({ id: Type.String(), sealed: Type.Unsafe<Buffer>({}) });
const LeftRow = Type.Object({ left: Type.Boolean() });

/** Names of tables and columns come from the areas' own declarations. */
const named = (text: string) => new Sql([text], []);

/** Not sealed with this key: byte 1 is the length of the key's id, which follows it. */
const otherKey = ({ column }: Sealed, head: string) =>
  sql`${named(column)} is not null and substring(${named(column)} from 3 for get_byte(${named(column)}, 1)) <> ${Buffer.from(head)}`;

/** Seals anew, in small transactions, what another key than the first seals. How many values that were. */
export async function resealColumn(db: Db, ring: KeyRing, where: Sealed): Promise<number> {
  const until = performance.now() + patienceMs;
  for (let done = 0; ; ) {
    const count = await db.write((tx) => resealSome(tx, ring, where));
    done += count;
    if (count > 0) continue;
    if (!(await db.read((tx) => sealedOtherwise(tx, ring, where)))) return done;
    // What is left is being changed by somebody at this moment.
    if (performance.now() > until) {
      throw new Stop(
        exitCodes.refused,
        `rows of ${where.table} stay locked by others; run \`quarterdeck admin rotate-key\` again, which goes on from here`,
      );
    }
    await sleep(100);
  }
}

async function resealSome(tx: Tx, ring: KeyRing, where: Sealed): Promise<number> {
  const { table, column, id } = where;
  const found = await rows(tx, SealedRow)`
    select ${named(id)}::text as id, ${named(column)} as sealed from ${named(table)} where ${otherKey(where, ring.keys[0]!.id)}
     limit ${portion} for update skip locked`;
  for (const { id: key, sealed } of found) {
    const place = `${table}.${column}.${key}`;
    const fresh = seal(ring, opened(ring, sealed, place), place);
    await run(tx)`update ${named(table)} set ${named(column)} = ${fresh} where ${named(id)}::text = ${key}`;
  }
  return found.length;
}

function opened(ring: KeyRing, sealed: Buffer, place: string): Buffer {
  try {
    return unseal(ring, sealed, place);
  } catch (error) {
    throw new Stop(
      exitCodes.secretKey,
      `${place} cannot be opened with any key of secret.key: ${(error as Error).message}; put the missing key back, or delete that row`,
      { cause: error },
    );
  }
}

const sealedOtherwise = async (tx: Tx, ring: KeyRing, where: Sealed): Promise<boolean> =>
  (await row(tx, LeftRow)`select exists (select from ${named(where.table)} where ${otherKey(where, ring.keys[0]!.id)}) as left`)!.left;

const XidRow = Type.Object({ xid: Type.String() });
const EndedRow = Type.Object({ ended: Type.Boolean() });

/** Whoever was writing when this was called has ended: a value sealed with the old key before is visible now. */
export async function writersEnded(db: Db): Promise<void> {
  const { xid } = (await db.write((tx) => row(tx, XidRow)`select pg_current_xact_id()::text as xid`))!;
  const until = performance.now() + patienceMs;
  while (!(await db.read((tx) => row(tx, EndedRow)`select pg_snapshot_xmin(pg_current_snapshot()) > ${xid}::xid8 as ended`))!.ended) {
    if (performance.now() > until) {
      throw new Stop(
        exitCodes.refused,
        'a transaction has been open for a minute; end it, then run `quarterdeck admin rotate-key` again, which goes on from here',
      );
    }
    await sleep(100);
  }
}
