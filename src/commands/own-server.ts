import type { OwnServer } from '../../cli/connect.ts';
import { ownerUrl } from '../../cli/where/owner-url.ts';
import { readConfig } from '../kernel/config.ts';

/** Where the server that this machine's settings describe is reached, and where it keeps its data. */
export async function ownServer(): Promise<OwnServer> {
  const { config, explained } = readConfig(process.env, process.cwd());
  const { host, port } = config.listen;
  const originOf = (key: string) => explained.find((setting) => setting.key === key)?.origin ?? 'default';
  const key = config.public_url ? 'public_url' : 'listen';
  const origin = originOf(key);
  // An address that the settings leave open is the one that the server wrote down when it started.
  const isOpen = !config.public_url && (origin === 'default' || port === 0);
  const told = isOpen ? ownerUrl(config.data, { isChosen: originOf('data') === 'environment' }) : undefined;
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
