import type pg from 'pg';
import { refuseUnfinished } from '../../kernel/backup/unfinished-restore.ts';
import type { Config } from '../../kernel/config.ts';
import { Stop } from '../../kernel/errors.ts';
import type { Migration } from '../../kernel/migrate.ts';
import { appliedMigrations, compareMigrations, type Difference } from '../release.ts';
import { type Finding, fail, ok, warn } from './finding.ts';

export interface Settings {
  server_version_num: string;
  fsync: string;
  full_page_writes: string;
  synchronous_commit: string;
  data_checksums: string;
  server_encoding: string;
  max_connections: string;
  transaction_read_only: string;
  in_recovery: string;
}

const names = [
  'server_version_num',
  'fsync',
  'full_page_writes',
  'synchronous_commit',
  'data_checksums',
  'server_encoding',
  'max_connections',
  'transaction_read_only',
] as const;

/** A server takes its pool, eight for pages and as many for hearing, waking, migrating and looking after jobs. */
const besidesPool = 16;
/** kine, one for each cluster with Kubernetes' own programs. */
const forCluster = 3;

export function judgeSettings(s: Settings, { pool, servers, clusters }: { pool: number; servers: number; clusters: number }): Finding[] {
  const found: Finding[] = [];
  const version = Math.floor(Number(s.server_version_num) / 10_000);
  if (version < 16) found.push(fail('database', `PostgreSQL ${version} is too old; 16 or newer is needed`));
  if (s.in_recovery === 'on' || s.transaction_read_only === 'on')
    found.push(
      fail('database', 'the database only reads: it is a standby, or set to read only; point QUARTERDECK_DATABASE_URL to the primary'),
    );
  if (s.fsync !== 'on' || s.full_page_writes !== 'on')
    found.push(fail('database', 'fsync or full_page_writes is off: a power cut destroys the database; turn both on'));
  if (s.synchronous_commit === 'off')
    found.push(fail('database', 'synchronous_commit is off: what was acknowledged can be lost; turn it on'));
  if (s.server_encoding !== 'UTF8')
    found.push(
      fail('database', `its encoding is ${s.server_encoding}; make a database with the encoding UTF8 and move there by backup and restore`),
    );
  if (s.data_checksums !== 'on')
    found.push(
      warn(
        'database',
        'data checksums are off: a failing disk would go unnoticed; turn them on with pg_checksums while PostgreSQL is stopped',
      ),
    );
  const needed = Math.max(1, servers) * (pool + besidesPool) + clusters * forCluster;
  const maxConnections = Number(s.max_connections);
  if (needed > maxConnections * 0.9)
    found.push(
      warn(
        'database',
        `${Math.max(1, servers)} servers${clusters > 0 ? ` and ${clusters} clusters` : ''} may take ${needed} of its ${maxConnections} connections; raise max_connections or lower QUARTERDECK_DATABASE_POOL`,
      ),
    );
  return found.length
    ? found
    : [ok('database', `PostgreSQL ${version} with safe settings; ${needed} of ${maxConnections} connections are needed`)];
}

export async function checkSettings(client: pg.Client, config: Config, counts: { servers: number; clusters: number }): Promise<Finding[]> {
  const { rows } = await client.query<Settings>(
    `select ${names.map((name) => `current_setting('${name}') as ${name}`).join(', ')}, case when pg_is_in_recovery() then 'on' else 'off' end as in_recovery`,
  );
  return judgeSettings(rows[0]!, { pool: config.database_pool, ...counts });
}

export function judgeClock({ skewSeconds, offsetSeconds }: { skewSeconds: number; offsetSeconds: number }): Finding[] {
  const skew = Math.abs(skewSeconds);
  const how = `the clocks of this machine and the database differ by ${skew.toFixed(1)} s`;
  const found: Finding[] = [];
  if (skew > 30) found.push(fail('clock', `${how}; set both by NTP`));
  else if (skew > 2) found.push(warn('clock', `${how}; set both by NTP`));
  if (offsetSeconds !== 0)
    found.push(
      fail(
        'clock',
        `the product’s clock is moved by ${offsetSeconds} s, which only tests do; run: update kernel.clock set clock_offset = '0'`,
      ),
    );
  return found.length ? found : [ok('clock', 'this machine and the database agree')];
}

export async function checkClock(client: pg.Client): Promise<Finding[]> {
  const { rows: there } = await client.query<{ there: boolean }>(`select to_regclass('kernel.clock') is not null as there`);
  const offset = there[0]!.there ? `(select extract(epoch from clock_offset) from kernel.clock)` : '0';
  const before = Date.now();
  const { rows } = await client.query<{ at: number; moved: number }>(
    `select extract(epoch from clock_timestamp())::float8 * 1000 as at, coalesce(${offset}, 0)::float8 as moved`,
  );
  const middle = (before + Date.now()) / 2;
  return judgeClock({ skewSeconds: (rows[0]!.at - middle) / 1000, offsetSeconds: rows[0]!.moved });
}

export function judgeMigrations({ pending, foreign }: Difference, applied: number): Finding {
  if (foreign.length)
    return fail('migrations', `a newer or another release has changed the database (${foreign[0]}); run that release here`);
  if (!applied) return warn('migrations', 'the database is empty; the first `quarterdeck serve` fills it, or `quarterdeck admin restore`');
  if (pending.length)
    return warn('migrations', `${pending.length} are pending (${pending[0]}); the next start of this release applies them`);
  return ok('migrations', `all ${applied} are applied`);
}

export async function checkMigrations(client: pg.Client, migrations: Migration[]): Promise<Finding> {
  const unfinished: unknown = await refuseUnfinished(client).catch((reason) => reason);
  if (unfinished instanceof Stop) return fail('migrations', unfinished.message);
  const applied = await appliedMigrations(client);
  return judgeMigrations(compareMigrations(applied, migrations), applied.size);
}
