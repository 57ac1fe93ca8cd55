import type pg from 'pg';
import { exitCodes, Stop } from '../errors.ts';

// A restore puts objects and the key in place before the rows. Until then the database has tables and no organization, as that of a first
// start has: a server would begin a new installation in it, and the next restore would find it used. So the restore leaves a mark, and takes
// it away in the transaction of the rows. The mark is a table of its own: the migrations of the backup may be older than any that would make it.

const mark = 'kernel.unfinished_restore';

/** Under the migration lock, in a database that the caller has found empty. */
export const markUnfinished = (client: pg.Client) => client.query(`create table if not exists ${mark} ()`);

export const clearUnfinished = (client: pg.Client) => client.query(`drop table if exists ${mark}`);

/** For a start, and for commands of the operator. */
export async function refuseUnfinished(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ there: boolean }>('select to_regclass($1) is not null as there', [mark]);
  if (!rows[0]!.there) return;
  throw new Stop(
    exitCodes.dataDirectory,
    'a restore into this database has begun and not ended: let it end; if it was interrupted, run the same `quarterdeck admin restore` again, or begin anew with an empty database and an empty QUARTERDECK_DATA',
  );
}
