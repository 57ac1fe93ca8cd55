import { readFile } from 'node:fs/promises';
import pg from 'pg';
import { notUsable } from '../data/directory.ts';
import { role } from './initialize.ts';
import { exists, type PostgresPaths, pathsIn, refuseOthers } from './paths.ts';
import { findPostmaster, type Postmaster } from './postmaster.ts';

/** How to reach the embedded server; every field is named, so that no PG* variable of the environment has a say. */
export interface EmbeddedConnection {
  host: string;
  port: number;
  user: string;
  password: string;
  database: string;
  ssl: false;
}

/** Undefined while the server has not said yet where its socket is. */
export async function connectionTo(place: PostgresPaths, server: Postmaster): Promise<EmbeddedConnection | undefined> {
  if (server.socketDir === '') return undefined;
  const password = (await readFile(place.password, 'utf8')).trim();
  return { host: server.socketDir, port: server.port, user: role, password, database: 'quarterdeck', ssl: false };
}

/** For commands beside a running Quarterdeck: how to reach its server, or undefined when none answers here. */
export async function connectRunning(dataDir: string): Promise<EmbeddedConnection | undefined> {
  const place = await pathsIn(dataDir).catch(() => undefined);
  if (!place || !(await exists(place.dir))) return undefined;
  await refuseOthers(place.dir);
  const server = await findPostmaster(place);
  if (!server) return undefined;
  const connection = await connectionTo(place, server).catch((error) => Promise.reject(notUsable(dataDir, error)));
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
