import type { App } from '../../../../kernel/app.ts';
import type { DatabaseLogin } from '../../rules/process/database-login.ts';

type DatabaseConfig = Pick<App, 'config' | 'connection'>;

const givenUrl = ({ config, connection }: DatabaseConfig) => config.database_direct_url || connection.connectionString;

/** Whether the database is ours alone, so that each cluster can have a role of its own in it. Whom another one lets in is its operator's to say. */
export const isOwnDatabase = (where: DatabaseConfig): boolean => !givenUrl(where);

/** PostgreSQL's address as kine reads it, with the schema of the cluster. It holds the password: for an environment, never for arguments. */
export function databaseUrl(where: DatabaseConfig, schema: string, login: DatabaseLogin): string {
  const given = givenUrl(where);
  // Put behind it is: it may name several servers, which no URL of Node's may.
  if (given) return `${given}${given.includes('?') ? '&' : '?'}search_path=${schema}`;
  const { host = 'localhost', port = 5432, database = '', ssl } = where.connection;
  const isSocket = host.startsWith('/');
  const url = new URL(`postgres://localhost/${encodeURIComponent(database)}`);
  url.username = encodeURIComponent(login.user);
  url.password = encodeURIComponent(login.password);
  if (!isSocket) url.hostname = host;
  url.port = isSocket ? '' : String(port);
  if (isSocket) url.searchParams.set('host', host);
  if (isSocket) url.searchParams.set('port', String(port));
  url.searchParams.set('sslmode', ssl ? 'require' : 'disable');
  url.searchParams.set('search_path', schema);
  return url.href;
}
