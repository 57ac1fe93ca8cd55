import type { App } from '../../../kernel/app.ts';
import type { DatabaseLogin } from '../rules/database-login.ts';

type DatabaseConfig = Pick<App, 'config' | 'connection'>;

const givenUrl = ({ config, connection }: DatabaseConfig) => config.database_direct_url || connection.connectionString;

/** Whether this is the embedded database, where each cluster gets its own role. Roles of an external database are its operator's to manage. */
export const isOwnDatabase = (where: DatabaseConfig): boolean => !givenUrl(where);

/** PostgreSQL's address for kine, with the cluster's schema. It holds the password, so it goes into the environment, never into arguments. */
export function databaseUrl(where: DatabaseConfig, schema: string, login: DatabaseLogin): string {
  const given = givenUrl(where);
  // Appended as text: the address may name several servers, which Node's URL class cannot parse.
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
