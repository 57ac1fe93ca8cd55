import { countOwnPrograms } from '../../areas/clusters/index.ts';
import { areas } from '../../areas/index.ts';
import type { Config } from '../../kernel/config.ts';
import { listServers } from '../../kernel/data/servers.ts';
import { openDb } from '../../kernel/db/index.ts';
import { Stop } from '../../kernel/errors.ts';
import { readMigrations } from '../../kernel/migrate.ts';
import { migrationsOf } from '../../serve.ts';
import { isTryDirectory } from '../../try/mark.ts';
import { connectFor } from '../backup/connection.ts';
import { hasDatabase, withDatabase } from '../session.ts';
import { checkCertificate } from './certificates.ts';
import { checkClusters } from './clusters.ts';
import { checkClock, checkMigrations, checkSettings } from './database.ts';
import { checkDisk } from './disk.ts';
import { checkDns, type DnsQuery } from './dns.ts';
import { checkFaults } from './faults.ts';
import { type Finding, fail, ok, warn } from './finding.ts';
import { checkHeldMail } from './held-mail.ts';
import { checkKey, checkOwnerToken } from './keys.ts';
import { checkMailHost } from './mail.ts';
import { checkOrdered } from './ordered-certificates.ts';
import { checkPorts } from './ports.ts';
import { checkRelay } from './relay.ts';
import { checkRestore } from './restore.ts';
import { checkStorage, checkStorageMark } from './storage.ts';
import { checkWork } from './work.ts';

/** Looks at everything, whatever is broken: a check that cannot be made is itself a finding. */
export async function examine(config: Config, ask: DnsQuery): Promise<Finding[]> {
  return [
    ...(await attempt('disk', () => checkDisk(config.data))),
    ...(await attempt('database', () => examineDatabase(config))),
    ...(await attempt('faults', async () => checkFaults(config.data))),
    ...(isTryDirectory(config.data) ? [outsideClosed] : await examineOutside(config, ask)),
    ...(await attempt('storage', () => checkStorage(config))),
  ];
}

/** A server with --try chooses its ports and settings of mail itself: those of the environment are not the ones that it runs with. */
const outsideClosed = ok('outside', 'this is serve --try, which nothing leaves: its ports, TLS, DNS and mail need no look');

/** How others reach this server, and how it reaches them. */
const examineOutside = async (config: Config, ask: DnsQuery): Promise<Finding[]> => [
  ...(await attempt('ports', () => checkPorts(config))),
  ...(await attempt('certificate', () => checkCertificate(config))),
  ...(await attempt('dns', () => checkDns(config, ask))),
  ...(await attempt('mail relay', () => checkRelay(config))),
  ...(await attempt('mail host', () => checkMailHost(config))),
];

async function attempt(check: string, look: () => Promise<Finding | Finding[]>): Promise<Finding[]> {
  try {
    return [await look()].flat();
  } catch (error) {
    return [fail(check, error instanceof Stop ? error.message : `this could not be looked at: ${(error as Error).message}`)];
  }
}

async function examineDatabase(config: Config): Promise<Finding[]> {
  const files = async (client?: Parameters<typeof checkKey>[0]) => [
    ...(await attempt('secret.key', () => checkKey(client, config.data))),
    ...(await attempt('owner.token', () => checkOwnerToken(client, config.data))),
  ];
  if (!hasDatabase(config))
    return [warn('database', `there is none in ${config.data} yet; the first \`quarterdeck serve\` makes it`), ...(await files())];

  let reached = false;
  const found = await attempt('database', () =>
    withDatabase(config, async (database) => {
      const client = await connectFor('doctor', database.direct);
      const db = openDb({ connection: database.connection, max: 1 });
      reached = true;
      try {
        const running = await db.read(listServers);
        const migrated = await checkMigrations(client, readMigrations(migrationsOf(areas)));
        const clusters = migrated.verdict === 'ok' ? await db.read(countOwnPrograms) : 0;
        return [
          ...(await attempt('database', () => checkSettings(client, config, { servers: running.length, clusters }))),
          ...(await attempt('clock', () => checkClock(client))),
          migrated,
          ...(await files(client)),
          ...(migrated.verdict === 'ok' ? await attempt('jobs', () => checkWork(db)) : []),
          ...(migrated.verdict === 'ok' ? await attempt('certificates', () => checkOrdered(db, config)) : []),
          ...(migrated.verdict === 'ok' ? await attempt('restore', () => checkRestore(db)) : []),
          ...(migrated.verdict === 'ok' ? await attempt('mail on one disk', () => checkHeldMail(db, config)) : []),
          ...(migrated.verdict === 'ok' ? await attempt('storage', () => checkStorageMark(config, db)) : []),
          ...(migrated.verdict === 'ok'
            ? await attempt('clusters', () => checkClusters(db, { isForeign: !database.embedded, clusters }))
            : []),
        ];
      } finally {
        await db.end();
        await client.end();
      }
    }),
  );
  return reached ? found : [...found, ...(await files())];
}
