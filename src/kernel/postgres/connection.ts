import { readFile } from 'node:fs/promises';
import pg from 'pg';
import { notUsable } from '../data/directory.ts';
import { role } from './initialize.ts';
import { exists, type PostgresPaths, pathsIn, refuseOtherOwner } from './paths.ts';
import { findPostmaster, type Postmaster } from './postmaster.ts';

/** How to reach the embedded server. Every field is set, so that no PG* variable of the environment applies. */
export interface EmbeddedConnection {
  host: string;
  port: number;
  user: string;
  password: string;
  database: string;
  ssl: false;
}

/** Undefined while the server has not published its socket yet. */
export async function connectionTo(paths: PostgresPaths, server: Postmaster): Promise<EmbeddedConnection | undefined> {
  if (server.socketDir === '') return undefined;
  const password = (await readFile(paths.password, 'utf8')).trim();
  return { host: server.socketDir, port: server.port, user: role, password, database: 'quarterdeck', ssl: false };
}

/** For commands beside a running Quarterdeck: how to reach its server, or undefined when none answers here. */
export async function connectRunning(dataDir: string): Promise<EmbeddedConnection | undefined> {
  const paths = await pathsIn(dataDir).catch(() => undefined);
  if (!paths || !(await exists(paths.dir))) return undefined;
  await refuseOtherOwner(paths.dir);
  const server = await findPostmaster(paths);
  if (!server) return undefined;
  const connection = await connectionTo(paths, server).catch((error) => Promise.reject(notUsable(dataDir, error)));
  return connection && (await answers(connection)) ? connection : undefined;
}

async function answers(connection: EmbeddedConnection): Promise<boolean> {
  const client = new pg.Client({ ...connection, connectionTimeoutMillis: 5_000, application_name: 'quarterdeck' });
  client.on('error', () => {});
  const connected = await client.connect().then(
    () => true,
    () => false,
  );
  await client.end().catch(() => {});
  return connected;
}
