import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { isAlive } from '../programs/process.ts';
import type { EmbeddedConnection } from './connection.ts';

/** A session lock in the database `postgres`: it ends with the process that holds it, however that process ends. */
const lock = [0x7164, 1];
const title = 'quarterdeck keeper';

export type LockAttempt = { held: pg.Client } | { heldBy: number } | { away: Error };

/** Tries once to become the keeper. `away`: the server is starting, stopping, or gone. */
export async function acquireKeeperLock(connection: EmbeddedConnection): Promise<LockAttempt> {
  const client = new pg.Client({
    ...connection,
    database: 'postgres',
    application_name: `${title} ${process.pid}`,
    connectionTimeoutMillis: 5_000,
    options: '-c statement_timeout=0 -c idle_session_timeout=0',
  });
  // Until a listener is attached, a connection that breaks must not end the process.
  client.on('error', () => {});
  try {
    await client.connect();
    const holder = await tryLock(client);
    if (holder === undefined) return { held: client };
    await client.end();
    return { heldBy: holder };
  } catch (error) {
    await client.end().catch(() => {});
    if (isUnavailable(error)) return { away: error as Error };
    throw error;
  }
}

/** undefined = this process holds it, else the pid of the process that does. */
async function tryLock(client: pg.Client): Promise<number | undefined> {
  const until = performance.now() + 2_000;
  for (;;) {
    const { rows } = await client.query<{ locked: boolean }>('select pg_try_advisory_lock($1, $2) as locked', lock);
    if (rows[0]?.locked) return undefined;
    const holder = await holderOf(client);
    // The holder was killed a moment ago, and its server process has not noticed the end of the connection yet.
    if ((holder === undefined || !isAlive(holder)) && performance.now() < until) await sleep(20);
    else return holder ?? 0;
  }
}

async function holderOf(client: pg.Client): Promise<number | undefined> {
  const { rows } = await client.query<{ application_name: string }>(
    `select a.application_name
       from pg_locks l join pg_stat_activity a on a.pid = l.pid
      where l.locktype = 'advisory' and l.granted and l.classid = $1::int8::oid and l.objid = $2::int8::oid and l.objsubid = 2`,
    lock,
  );
  const name = rows[0]?.application_name;
  return name?.startsWith(title) ? Number(name.slice(title.length)) : undefined;
}

/** No listener, a server that is starting up or shutting down (57P01 to 57P03), or a connection closed in the middle. */
function isUnavailable(error: unknown): boolean {
  const { code, message } = error as { code?: string; message?: string };
  if (['ENOENT', 'ECONNREFUSED', 'ECONNRESET', 'EPIPE', '57P01', '57P02', '57P03'].includes(code ?? '')) return true;
  return /Connection terminated|timeout expired/.test(message ?? '');
}
