import { exitCodes, Stop } from '../errors.ts';

// A libpq URL may name several servers, of which one takes writes: postgresql://user@a:5432,b:5432/name?target_session_attrs=read-write

const shape = /^(postgres(?:ql)?:\/\/)(?:([^@/?#]*)@)?([^/?#]*)([^?#]*)(?:\?([^#]*))?/;
/** Quarterdeck writes, so each of these values means the writable server. */
const writable: ReadonlySet<string> = new Set(['any', 'read-write', 'primary', 'prefer-standby']);

/** The URL of each server, in order. A URL with a single server is returned unchanged. */
export function eachHost(url: string, setting: string): string[] {
  const found = shape.exec(url);
  if (!found) return [url];
  const [, scheme, login, authority = '', path, text = ''] = found;
  const query = new URLSearchParams(text);
  const wanted = query.get('target_session_attrs') ?? 'any';
  if (!writable.has(wanted))
    throw new Stop(
      exitCodes.configuration,
      `${setting} asks for target_session_attrs=${wanted}, a server that only reads; Quarterdeck writes, so ask for read-write`,
    );
  const hosts = (query.get('host') ?? '').includes(',') ? hostsOfQuery(query) : authority.split(',').map((host) => ({ host }));
  if (hosts.length === 1) return [url];
  for (const name of ['host', 'port', 'target_session_attrs', 'load_balance_hosts']) query.delete(name);
  const begin = `${scheme}${login === undefined ? '' : `${login}@`}`;
  return hosts.map(({ host, port }: Host) => {
    if (!host) throw new Stop(exitCodes.configuration, `${setting} has an empty name among its hosts; write them as a:5432,b:5432`);
    const own = new URLSearchParams([...query, ...(host.startsWith('/') ? [['host', host] as [string, string]] : [])]);
    const place = host.startsWith('/') ? 'localhost' : host;
    return `${begin}${place}${port ? `:${port}` : ''}${path}${own.size ? `?${own}` : ''}`;
  });
}

interface Host {
  /** A path is a socket directory. */
  host: string;
  port?: string;
}

/** `?host=a,b&port=5432,5433`; a single port applies to every host. */
function hostsOfQuery(query: URLSearchParams): Host[] {
  const ports = (query.get('port') ?? '').split(',');
  const hosts = query.get('host')!.split(',');
  return hosts.map((host, n) => {
    const port = ports.length === 1 ? ports[0] : ports[n];
    return { host, ...(port ? { port } : {}) };
  });
}

/** The display name of the server, without the login. */
export const displayHost = (url: string): string => {
  const [, , , authority = '', , query = ''] = shape.exec(url) ?? [];
  return new URLSearchParams(query).get('host') ?? (authority || 'localhost');
};
