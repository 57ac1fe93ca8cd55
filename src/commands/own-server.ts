import { existsSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { OwnServer } from '../../cli/connect.ts';
import { ownerUrl } from '../../cli/where/owner-url.ts';
import { type ExplainedSetting, type Key, readConfig } from '../kernel/config.ts';

/** Where `serve --try` keeps its data unless told. */
export const tryDirectory = './data-try';

/** Settings that describe another server than the one of --try. */
const namingSettings: readonly Key[] = ['data', 'listen', 'public_url', 'database_url'];

/** A running server rewrites this file every 5 s; see src/kernel/data/server-lock.ts. */
const isRunning = (dataDir: string): boolean => {
  const { mtimeMs = 0 } = statSync(join(dataDir, 'server.holder'), { throwIfNoEntry: false }) ?? {};
  return performance.timeOrigin + performance.now() - mtimeMs < 30_000;
};

/** The address that a server of --try wrote beside its token. A server with --try is on loopback, and no token goes elsewhere. */
function writtenUrl(dataDir: string, isChosen: boolean): string | undefined {
  const url = ownerUrl(dataDir, { isChosen });
  return url && /^http:\/\/(127\.0\.0\.1|localhost|\[::1\]):\d+$/.test(url) ? url : undefined;
}

const isNamedBy = (explained: readonly ExplainedSetting[]): boolean =>
  explained.some(({ key, origin }) => namingSettings.includes(key) && origin !== 'default');

/** Whether `serve --try` has its data in this directory, and no setting describes another server. */
export const hasTryServer = (explained: readonly ExplainedSetting[]): boolean =>
  !isNamedBy(explained) && existsSync(join(tryDirectory, 'try.mark'));

/** Where the server that this machine's settings describe is reached, and where it keeps its data. */
export async function ownServer({ preferTry = false } = {}): Promise<OwnServer> {
  const { config, explained } = readConfig(process.env, process.cwd());
  const originOf = (key: string) => explained.find((setting) => setting.key === key)?.origin ?? 'default';
  const isChosen = originOf('data') === 'environment';
  const tried = findTryServer(config.data, { isNamed: isNamedBy(explained), isChosen, preferTry });
  if (tried) return tried;
  const { host, port } = config.listen;
  const key = config.public_url ? 'public_url' : 'listen';
  const origin = originOf(key);
  // An address that the settings leave open is the one that the server wrote down when it started.
  const isOpen = !config.public_url && (origin === 'default' || port === 0);
  const told = isOpen ? ownerUrl(config.data, { isChosen }) : undefined;
  if (told) return { url: told, urlFrom: `${config.data}/owner.url`, dataDir: config.data };
  const name = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '[::1]' : host.includes(':') ? `[${host}]` : host;
  const isDefault = origin === 'default' ? `the default (there is no ${config.data}/owner.url)` : undefined;
  return {
    url: config.public_url || `${config.tls_cert ? 'https' : 'http'}://${name}:${port}`,
    urlFrom: isDefault ?? `the setting ${key}`,
    dataDir: config.data,
    isFromFolder: origin === 'file' && !process.env.QUARTERDECK_CONFIG,
  };
}

/**
 * The server of `serve --try`, if the data directory is its own. Else the one in this directory: for `quarterdeck try`, and for all commands
 * while no other server runs here and no setting describes one.
 */
function findTryServer(
  dataDir: string,
  { isNamed, isChosen, preferTry }: { isNamed: boolean; isChosen: boolean; preferTry: boolean },
): OwnServer | undefined {
  const isOwn = existsSync(join(dataDir, 'try.mark'));
  const tried = isOwn ? dataDir : resolve(tryDirectory);
  const isMeant = isOwn || (!isNamed && (preferTry || (isRunning(tried) && !isRunning(dataDir))));
  const url = isMeant ? writtenUrl(tried, isOwn && isChosen) : undefined;
  return url ? { url, dataDir: tried, isFromFolder: true } : undefined;
}
