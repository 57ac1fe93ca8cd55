import pg from 'pg';
import { type Connection, displayHost } from '../kernel/db/index.ts';
import type { Logger } from '../kernel/log.ts';

/** How often the server that we write to is asked whether it still takes writes, and how long an answer may take. */
const pollMs = 2_000;
const answerTimeoutMs = 2_000;

interface FollowState {
  urls: readonly string[];
  current: string;
  log: Logger;
  /** A connection of our own to the current one. */
  client: pg.Client | undefined;
  timer: NodeJS.Timeout | undefined;
  isStopped: boolean;
}

/**
 * A connection that follows the writable server among these. Each new connection reads `connectionString` again. Connections to a server
 * that was demoted break by themselves, as with a single server that restarts.
 */
export function followWritable(urls: readonly string[], first: string, log: Logger): { connection: Connection; stop(): Promise<void> } {
  const following: FollowState = { urls, current: first, log, client: undefined, timer: undefined, isStopped: false };
  schedulePoll(following);
  return {
    connection: {
      get connectionString() {
        return following.current;
      },
    },
    stop: async () => {
      following.isStopped = true;
      clearTimeout(following.timer);
      await following.client?.end().catch(() => {});
    },
  };
}

function schedulePoll(following: FollowState): void {
  if (following.isStopped) return;
  following.timer = setTimeout(() => void poll(following).finally(() => schedulePoll(following)), pollMs).unref();
}

async function poll(following: FollowState): Promise<void> {
  if (following.client && (await isWritable(following.client))) return;
  following.client?.end().catch(() => {});
  following.client = undefined;
  const clients = await Promise.all(following.urls.map(openWritable));
  const n = clients.findIndex((client) => client !== undefined);
  for (const [at, client] of clients.entries()) if (at !== n || following.isStopped) client?.end().catch(() => {});
  if (n < 0 || following.isStopped) return;
  following.client = clients[n];
  const found = following.urls[n]!;
  if (found === following.current) return;
  following.log.warn({ from: displayHost(following.current), to: displayHost(found) }, 'another server of the database takes writes now');
  following.current = found;
}

async function openWritable(url: string): Promise<pg.Client | undefined> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: answerTimeoutMs,
    query_timeout: answerTimeoutMs,
    application_name: 'quarterdeck follow',
  });
  client.on('error', () => {}); // told by the query that meets it
  try {
    await client.connect();
    if (await isWritable(client)) return client;
  } catch {
    // Away, or not ours to enter: another one may do.
  }
  client.end().catch(() => {});
  return undefined;
}

const isWritable = (client: pg.Client): Promise<boolean> =>
  client
    .query<{ writable: boolean }>(`select not pg_is_in_recovery() and current_setting('transaction_read_only') = 'off' as writable`)
    .then(
      ({ rows }) => rows[0]!.writable,
      () => false,
    );
