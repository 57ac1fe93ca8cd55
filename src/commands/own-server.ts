import { existsSync, readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { OwnServer } from '../../cli/connect.ts';
import { readConfig } from '../kernel/config.ts';

/** Where `serve --try` keeps its data unless told. */
export const tryDirectory = './data-try';

/** A running server rewrites this file every 5 s; see src/kernel/data/server-lock.ts. */
const isRunning = (dataDir: string): boolean => {
  const { mtimeMs = 0 } = statSync(join(dataDir, 'server.holder'), { throwIfNoEntry: false }) ?? {};
  return performance.timeOrigin + performance.now() - mtimeMs < 30_000;
};

/** The address that a server wrote beside its token. */
const writtenUrl = (dataDir: string): string | undefined => {
  const file = join(dataDir, 'owner.url');
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n')[0] : undefined;
};

/** Where the server that this machine's settings describe is reached, and where it keeps its data. */
export async function ownServer({ preferTry = false } = {}): Promise<OwnServer> {
  const { config, explained } = readConfig(process.env, process.cwd());
  const tried = process.env.QUARTERDECK_DATA ? undefined : findTryServer(config.data, preferTry);
  if (tried) return tried;
  const { host, port } = config.listen;
  const name = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '[::1]' : host.includes(':') ? `[${host}]` : host;
  const said = explained.find(({ key }) => key === (config.public_url ? 'public_url' : 'listen'));
  return {
    url: config.public_url || `${config.tls_cert ? 'https' : 'http'}://${name}:${port}`,
    dataDir: config.data,
    isFromFolder: said?.origin === 'file' && !process.env.QUARTERDECK_CONFIG,
  };
}

/** The server of `serve --try` in this directory: for `quarterdeck try`, and for all commands while no other server runs here. */
function findTryServer(dataDir: string, preferTry: boolean): OwnServer | undefined {
  const tried = resolve(tryDirectory);
  const url = writtenUrl(tried);
  if (!url || (!preferTry && (isRunning(dataDir) || !isRunning(tried)))) return undefined;
  return { url, dataDir: tried };
}
