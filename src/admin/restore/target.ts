import type pg from 'pg';
import type { AnyArea } from '../../areas/area.ts';
import { exitCodes, Stop } from '../../kernel/errors.ts';
import type { Migration } from '../../kernel/migrate.ts';
import { foreignSchemas } from '../backup/catalog.ts';
import type { Manifest } from '../backup/manifest.ts';
import { appliedMigrations } from '../release.ts';

/** Of this release or an older one: every migration of the backup is one that we carry, letter by letter. */
export function requireKnown(manifest: Manifest, migrations: Migration[]): void {
  const ours = new Map(migrations.map((m) => [m.id, m.checksum]));
  for (const { id, checksum } of manifest.migrations) {
    if (!ours.has(id))
      throw new Stop(
        exitCodes.databaseNewer,
        `the backup was made by a newer release (${manifest.release}, migration ${id}); restore it with that release or a newer one`,
      );
    if (ours.get(id) !== checksum)
      throw new Stop(
        exitCodes.databaseNewer,
        `the backup was made by another edition of this program (${manifest.release}): its migration ${id} has another text; restore it with the release that made it`,
      );
  }
}

const refuse = (sentence: string): never => {
  throw new Stop(exitCodes.refused, sentence);
};

/**
 * Nothing there, or what a restore left that was killed: tables without an organization, a canary or an audit row. A start writes all
 * three in one transaction, and so does the copying of a restore.
 */
export async function requireEmpty(
  client: pg.Client,
  schemas: readonly string[],
  manifest: Manifest,
  areas: readonly AnyArea[],
): Promise<void> {
  const [guest] = await foreignSchemas(client, areas);
  if (guest) refuse(`the database is not empty: it has the objects of a cluster in ${guest}; restore into an empty database`);
  const applied = await appliedMigrations(client);
  if (applied.size === 0) {
    const { rows } = await client.query<{ name: string }>(
      `select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname = any($1::text[]) and (schemaname, tablename) <> ('kernel', 'migration') limit 1`,
      [schemas],
    );
    if (rows[0]) refuse(`the database has a table ${rows[0].name} that is not Quarterdeck’s; restore into an empty database`);
    return;
  }
  const known = new Set(manifest.migrations.map((m) => m.id));
  const beyond = [...applied.keys()].find((id) => !known.has(id));
  if (beyond) refuse(`the database is not empty: it is migrated beyond this backup (${beyond}); restore into an empty database`);
  for (const table of ['identity.org', 'kernel.canary', 'kernel.audit']) {
    const { rows } = await client.query<{ there: boolean }>('select to_regclass($1) is not null as there', [table]);
    if (!rows[0]!.there) continue;
    const { rowCount } = await client.query(`select from ${table} limit 1`);
    if (rowCount)
      refuse(
        'the database is not empty: it belongs to a Quarterdeck that has been started; restore into an empty database, or an empty QUARTERDECK_DATA',
      );
  }
}
