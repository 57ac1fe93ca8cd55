import pg from 'pg';
import type { Connection } from '../../src/kernel/db/index.ts';
import { eventually } from './process.ts';

/** A connection beside the server's own: what it locks or looks at takes nothing of their number. */
export async function openRace(connection: Connection) {
  const client = new pg.Client(connection);
  const watch = new pg.Client(connection);
  for (const each of [client, watch]) each.on('error', () => {}); // its database may be dropped first
  await Promise.all([client.connect(), watch.connect()]);
  const countWaiting = async (): Promise<number> => {
    const { rows } = await watch.query(
      `select count(*)::int as waiting from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    );
    return rows[0].waiting;
  };
  return {
    /** Takes locks and keeps them until `release`. */
    hold: async (lock: string, values: readonly unknown[] = []) => {
      await client.query('begin');
      await client.query(lock, [...values]);
    },
    find: async (ask: string, values: readonly unknown[]): Promise<string> => (await watch.query(ask, [...values])).rows[0].id,
    release: async () => void (await client.query('commit')),
    /** Resolves once so many transactions wait for a lock, counting each `over` as one that waits no more. */
    untilWaiting: (count: number, over: () => number = () => 0) => eventually(async () => over() + (await countWaiting()) >= count),
    close: async () => void (await Promise.all([client.end(), watch.end()])),
  };
}

export type Race = Awaited<ReturnType<typeof openRace>>;

export const heldUpByOrganization = (orgId: string) => ['select from identity.org where id = $1 for update', [orgId]] as const;
export const heldUpByToken = (tokenId: string) => ['select from identity.token where id = $1 for update', [tokenId]] as const;
