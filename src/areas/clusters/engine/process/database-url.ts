import type { App } from '../../../../kernel/app.ts';

/** PostgreSQL's address as kine reads it, with the schema of the cluster. It holds the password: for an environment, never for arguments. */
export function databaseUrl({ config, connection }: Pick<App, 'config' | 'connection'>, schema: string): string {
  const given = config.database_direct_url || connection.connectionString;
  // Put behind it as it is: it may name several servers, which no URL of Node's may.
  if (given) return `${given}${given.includes('?') ? '&' : '?'}search_path=${schema}`;
  const { host = 'localhost', port = 5432, user = '', password = '', database = '' } = connection;
  const isSocket = host.startsWith('/');
  const url = new URL(`postgres://localhost/${encodeURIComponent(database)}`);
  url.username = encodeURIComponent(user);
  url.password = encodeURIComponent(typeof password === 'string' ? password : '');
  if (!isSocket) url.hostname = host;
  url.port = isSocket ? '' : String(port);
  if (isSocket) url.searchParams.set('host', host);
  if (isSocket) url.searchParams.set('port', String(port));
  url.searchParams.set('sslmode', connection.ssl ? 'require' : 'disable');
  url.searchParams.set('search_path', schema);
  return url.href;
}
