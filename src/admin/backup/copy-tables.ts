import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type pg from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import type { Connection } from '../../kernel/db/index.ts';
import type { Progress } from '../progress.ts';
import { quoted, type Table } from './catalog.ts';
import { connectFor } from './connection.ts';
import { writeHashed } from './files.ts';
import { type TableFile, tableFile } from './manifest.ts';

const maxConcurrentCopies = 2;

/** All tables as one snapshot sees them, the largest first, two at a time on connections of their own. */
export async function copyTables(
  connection: Connection,
  snapshot: string,
  tables: readonly Table[],
  directory: string,
  progress: Progress,
): Promise<TableFile[]> {
  progress.begin(
    'copying rows',
    tables.reduce((sum, { bytes }) => sum + bytes, 0),
  );
  await mkdir(join(directory, 'tables'), { mode: 0o700 });
  const queue = [...tables].sort((a, b) => b.bytes - a.bytes);
  const copied = new Map<Table, TableFile>();
  const clients: pg.Client[] = [];

  const lane = async () => {
    const client = await connectFor('backup', connection);
    clients.push(client);
    await client.query('begin isolation level repeatable read read only');
    await client.query(`set transaction snapshot '${snapshot}'`);
    for (let table = queue.shift(); table; table = queue.shift()) {
      copied.set(table, await copyTable(client, table, directory));
      progress.add(table.bytes);
    }
  };
  const giveUp = (error: unknown) => {
    queue.length = 0;
    throw error;
  };
  const lanes = await Promise.allSettled(Array.from({ length: maxConcurrentCopies }, () => lane().catch(giveUp)));
  await Promise.all(clients.map((client) => client.end().catch(() => {})));
  for (const ended of lanes) if (ended.status === 'rejected') throw ended.reason;
  return tables.map((table) => copied.get(table)!);
}

async function copyTable(client: pg.Client, table: Table, directory: string): Promise<TableFile> {
  const { schema, name, columns, partitions } = table;
  const listed = columns.map((c) => `"${c}"`).join(', ');
  // A table alone is copied without a plan: nothing that a guest has hung on its own, such as the condition of an index, is worked out by us.
  const what = table.isPartitioned ? `(select ${listed} from ${quoted(table)})` : `${quoted(table)} (${listed})`;
  const source = client.query(copyTo(`copy ${what} to stdout`));
  // In the text format a row is a line: what breaks lines inside of values is escaped.
  const { lines: rows, ...written } = await writeHashed(join(directory, tableFile(table)), source);
  await client.query('select 1'); // an error after the last row would otherwise go unnoticed
  return { schema, name, columns, partitions, rows, ...written };
}
