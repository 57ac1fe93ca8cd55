import pg from 'pg';
import { type Connection, types } from '../../kernel/db/index.ts';

/** One form of times, intervals, numbers and bytes, whatever the server or the role prefers; and as long as it takes. */
const plain = {
  timezone: 'UTC',
  datestyle: 'ISO, YMD',
  intervalstyle: 'postgres',
  extra_float_digits: '1',
  bytea_output: 'hex',
  statement_timeout: '0',
  idle_in_transaction_session_timeout: '0',
  lock_timeout: '10s',
};

export async function connectFor(purpose: string, connection: Connection): Promise<pg.Client> {
  const client = new pg.Client({
    ...connection,
    types,
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
    application_name: `quarterdeck ${purpose}`,
  });
  client.on('error', () => {}); // told by the query that meets it
  await client.connect();
  await client.query('select set_config(name, value, false) from unnest($1::text[], $2::text[]) as given(name, value)', [
    Object.keys(plain),
    Object.values(plain),
  ]);
  return client;
}
