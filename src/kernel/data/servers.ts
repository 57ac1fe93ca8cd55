import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import Type, { type Static } from 'typebox';
import { type Db, row, rows, run, type Tx } from '../db/index.ts';
import type { Logger } from '../log.ts';
import type { Role } from '../roles.ts';
import type { KeyRing } from '../secrets.ts';

// The running servers, and the keys each of them holds. A server is known by its listening connection, whose name carries node and process.
// So a killed server is gone as soon as the database notices.

const title = 'quarterdeck listen';

/** A process of a node. A node is a data directory with a key file. */
export interface ServerName {
  node: string;
  process: string;
}

/** The program that the process runs. */
export interface ServerRelease {
  version: string;
  roles: readonly Role[];
}

export const newServerName = (node: string): ServerName => ({ node, process: randomBytes(4).toString('hex') });

/** At most 63 bytes: PostgreSQL truncates longer names. */
export const connectionName = ({ node, process }: ServerName): string => `${title} ${node.replaceAll('-', '').slice(0, 32)} ${process}`;

const ServerRow = Type.Object({
  process: Type.String(),
  node: Type.Union([Type.String(), Type.Null()]),
  host: Type.String(),
  keyIds: Type.Union([Type.Array(Type.String()), Type.Null()]),
});

export type Server = Static<typeof ServerRow>;

/** Every server process. The keys are null for a server that has not registered them yet, or that runs an older release. */
export const listServers = (tx: Tx): Promise<Server[]> => rows(tx, ServerRow)`
  select coalesce(s.process, a.pid::text) as process, s.node, coalesce(s.host, host(a.client_addr), 'this machine') as host, s.key_ids as "keyIds"
    from pg_stat_activity a left join kernel.server s on s.process = split_part(a.application_name, ' ', 4)
   where a.datname = current_database() and a.application_name like 'quarterdeck listen%'`;

const ReleaseRow = Type.Object({ version: Type.Union([Type.String(), Type.Null()]), roles: Type.Array(Type.String()) });

/** What every running process runs, without its host. Apart from `listServers`, which also reads databases of older releases. */
export const listServerReleases = (tx: Tx): Promise<Static<typeof ReleaseRow>[]> => rows(tx, ReleaseRow)`
  select s.version, coalesce(s.roles, '{}') as roles
    from pg_stat_activity a left join kernel.server s on s.process = split_part(a.application_name, ' ', 4)
   where a.datname = current_database() and a.application_name like 'quarterdeck listen%'
   order by s.version, s.roles, a.pid limit 100`;

const DatabaseRow = Type.Object({ version: Type.String() });

export const databaseVersion = async (tx: Tx): Promise<string> =>
  (await row(tx, DatabaseRow)`select current_setting('server_version') as version`)!.version;

const upsertServer = (tx: Tx, { node, process, version, roles }: ServerName & ServerRelease, keyIds: string[]) => run(tx)`
  insert into kernel.server (process, node, host, key_ids, version, roles, changed_at)
       values (${process}, ${node}, ${hostname()}, ${keyIds}, ${version}, ${[...roles]}, kernel.now())
      on conflict (process) do update set key_ids = excluded.key_ids, changed_at = excluded.changed_at`;

const deleteServer = (tx: Tx, { process }: ServerName) => run(tx)`delete from kernel.server where process = ${process}`;

/** A server listens before it registers, so the row of a live server is never taken for a leftover. */
const deleteLeftovers = (tx: Tx) => run(tx)`
  delete from kernel.server s where not exists (
    select from pg_stat_activity a where a.datname = current_database() and split_part(a.application_name, ' ', 4) = s.process)`;

const retryMs = 1_000;

export interface RegisteredServer {
  registerKeys(ring: KeyRing): void;
  stop(): Promise<void>;
}

/** Registers the keys of this process, now and at each change. Retries every second while the database is unavailable. */
export async function registerServer(db: Db, name: ServerName & ServerRelease, first: KeyRing, log: Logger): Promise<RegisteredServer> {
  const idsOf = (ring: KeyRing) => ring.keys.map(({ id }) => id);
  await db.write(async (tx) => {
    await deleteLeftovers(tx);
    await upsertServer(tx, name, idsOf(first));
  });
  let retry: NodeJS.Timeout | undefined;
  const noteKeys = (ring: KeyRing) => {
    clearTimeout(retry);
    db.write((tx) => upsertServer(tx, name, idsOf(ring))).catch((error) => {
      log.warn({ err: error }, 'which keys this server holds could not be written down; trying again');
      retry = setTimeout(noteKeys, retryMs, ring).unref();
    });
  };
  return {
    registerKeys: noteKeys,
    async stop() {
      clearTimeout(retry);
      await db.write((tx) => deleteServer(tx, name));
    },
  };
}
