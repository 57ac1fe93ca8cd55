import pg from 'pg';
import { refuseUnfinished } from '../kernel/backup/unfinished-restore.ts';
import type { Connection } from '../kernel/db/index.ts';
import { exitCodes, Stop } from '../kernel/errors.ts';
import type { Migration } from '../kernel/migrate.ts';

/** Migration ids of a database with their checksums, in the order of applying; empty when it was never migrated. */
export async function appliedMigrations(client: pg.Client): Promise<Map<string, string>> {
  const { rows: found } = await client.query<{ there: boolean }>(`select to_regclass('kernel.migration') is not null as there`);
  if (!found[0]!.there) return new Map();
  const { rows } = await client.query<{ id: string; checksum: string }>(
    'select id, checksum from kernel.migration order by applied_at, id',
  );
  return new Map(rows.map((r) => [r.id, r.checksum]));
}

export interface Difference {
  /** What this release would still apply. */
  pending: string[];
  /** What a newer or another release has applied. */
  foreign: string[];
}

export function compareMigrations(applied: ReadonlyMap<string, string>, migrations: Migration[]): Difference {
  const known = new Map(migrations.map((m) => [m.id, m.checksum]));
  return {
    pending: migrations.map((m) => m.id).filter((id) => !applied.has(id)),
    foreign: [...applied].filter(([id, checksum]) => known.get(id) !== checksum).map(([id]) => id),
  };
}

/** Commands speak to the tables of their own release: neither to an older database, which a start migrates, nor to a newer one. */
export async function requireThisRelease(connection: Connection, migrations: Migration[]): Promise<void> {
  const client = new pg.Client({ ...connection, connectionTimeoutMillis: 5_000, application_name: 'quarterdeck admin' });
  client.on('error', () => {}); // told by the query that meets it
  await client.connect();
  const readApplied = async () => {
    await refuseUnfinished(client);
    return appliedMigrations(client);
  };
  const applied = await readApplied().finally(() => client.end());
  const { pending, foreign } = compareMigrations(applied, migrations);
  if (foreign.length) {
    throw new Stop(
      exitCodes.databaseNewer,
      `the database was changed by another release (migration ${foreign[0]}); run that release’s \`quarterdeck admin\``,
    );
  }
  if (applied.size === 0) {
    throw new Stop(
      exitCodes.dataDirectory,
      'the database is empty: start it once with `quarterdeck serve`, or fill it with `quarterdeck admin restore`',
    );
  }
  if (pending.length) {
    throw new Stop(
      exitCodes.dataDirectory,
      `the database is of an older release (${pending[0]} is missing); start \`quarterdeck serve\` of this release once, which brings it up to date`,
    );
  }
}
