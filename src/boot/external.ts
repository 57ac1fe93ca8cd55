import pg from 'pg';
import type { Config } from '../kernel/config.ts';
import { type Connection, displayHost, eachHost } from '../kernel/db/index.ts';
import { exitCodes, Stop } from '../kernel/errors.ts';
import type { Logger } from '../kernel/log.ts';
import { followWritable } from './follow-writable.ts';
import { isPooled } from './pooler.ts';

const minVersion = 16;

const stop = (sentence: string, cause?: unknown): never => {
  throw new Stop(exitCodes.databaseUnreachable, sentence, { cause });
};

/** What a server says of itself. */
export interface ServerFacts {
  version: number;
  only_reads: boolean;
  database: string;
  role: string;
  may_create: boolean;
  has_schemas: boolean;
}

const factsOf = `
  select current_setting('server_version_num')::int / 10000 as version, current_database() as database, current_user as role,
         pg_is_in_recovery() or current_setting('transaction_read_only') = 'on' as only_reads,
         has_database_privilege(current_database(), 'CREATE') as may_create,
         exists (select from pg_namespace where nspname = 'kernel') as has_schemas`;

/** Why Quarterdeck cannot run there, in a sentence; undefined: it can. */
export function judgeServer(f: ServerFacts, setting: string): string | undefined {
  if (f.version < minVersion) return `the database at ${setting} is PostgreSQL ${f.version}; ${minVersion} or newer is needed`;
  if (f.only_reads)
    return `the database at ${setting} only reads: it is a standby, or set to read only; give the address of the primary, or of all servers as host,host`;
  if (!f.may_create && !f.has_schemas)
    return `the role ${f.role} may not make schemas in the database ${f.database} of ${setting}; run there as its owner: grant create on database "${f.database}" to "${f.role}"`;
  return undefined;
}

/** The operator's own database: the one server that its URL names, or the one of several that can be written to, wherever that moves. */
export async function openExternal(config: Config, log: Logger) {
  const main = await openUrl(config.database_url, 'QUARTERDECK_DATABASE_URL', log);
  const direct = config.database_direct_url
    ? await openUrl(config.database_direct_url, 'QUARTERDECK_DATABASE_DIRECT_URL', log).catch(async (error) => {
        await main.stop();
        throw error;
      })
    : main;
  return {
    connection: main.connection,
    direct: direct.connection,
    embedded: false,
    stop: async () => void (await Promise.all([main.stop(), direct.stop()])),
  };
}

async function openUrl(url: string, setting: string, log: Logger): Promise<{ connection: Connection; stop(): Promise<void> }> {
  const urls = eachHost(url, setting);
  const refusals: { host: string; why: string }[] = [];
  for (const each of urls) {
    const why = await examine(each, setting);
    if (why !== undefined) refusals.push({ host: displayHost(each), why });
    else if (await isPooled({ connectionString: each })) stop(pooled(setting));
    else return urls.length === 1 ? { connection: { connectionString: each }, stop: async () => {} } : followWritable(urls, each, log);
  }
  if (refusals.length === 1) stop(refusals[0]!.why);
  return stop(`none of the ${urls.length} servers in ${setting} can be used: ${refusals.map((r) => `at ${r.host}, ${r.why}`).join('; ')}`);
}

async function examine(url: string, setting: string): Promise<string | undefined> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000, query_timeout: 5_000, statement_timeout: 5_000 });
  client.on('error', () => {}); // told by the query that meets it
  try {
    await client.connect();
    const { rows } = await client.query<ServerFacts>(factsOf);
    return judgeServer(rows[0]!, setting);
  } catch (error) {
    return refusalOf(error, setting);
  } finally {
    await client.end().catch(() => {});
  }
}

const pooled = (setting: string) =>
  `${setting} leads to a pooler in transaction mode, such as PgBouncer, where a session’s locks, settings and statements do not last; give PostgreSQL’s own address (Quarterdeck keeps few connections: QUARTERDECK_DATABASE_POOL)`;

/** What the server said, or the system; never the URL, which may hold a password. */
export function refusalOf(error: unknown, setting: string): string {
  const { code, message = '', errors, severity } = error as { code?: string; message?: string; errors?: Error[]; severity?: string };
  if (/unsupported startup parameter/.test(message)) return pooled(setting);
  if (code === '3D000') return `${setting} names a database that is not there (${message}); make it with createdb, or correct the URL`;
  if (code === '28000' || code === '28P01')
    return `the database at ${setting} does not let us in (${message}); check the role, its password and pg_hba.conf`;
  const why = severity ? message : (code ?? errors?.[0]?.message ?? (message || 'no answer'));
  return `the database at ${setting} cannot be reached: ${why}; check the URL and that the server runs`;
}
