import pg from 'pg';
import type { Connection } from '../kernel/db/index.ts';

/**
 * Whether two connections share a session of the server, which only a pooler in transaction mode lets them do: one that asks after its
 * process between two transactions is then given another, or its process is given to somebody else.
 */
export async function isPooled(connection: Connection): Promise<boolean> {
  const clients = [1, 2].map(() => new pg.Client({ ...connection, connectionTimeoutMillis: 5_000, query_timeout: 5_000 }));
  for (const client of clients) client.on('error', () => {}); // told by the query that meets it
  const [first, second] = clients as [pg.Client, pg.Client];
  try {
    await first.connect();
    const before = await processOf(first);
    await second.connect();
    await second.query('begin');
    const other = await processOf(second);
    const after = await processOf(first);
    await second.query('rollback');
    return other === before || after !== before;
  } finally {
    await Promise.all(clients.map((client) => client.end().catch(() => {})));
  }
}

const processOf = async (client: pg.Client): Promise<number> =>
  (await client.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]!.pid;
