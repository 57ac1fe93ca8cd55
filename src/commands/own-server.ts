import type { OwnServer } from '../../cli/connect.ts';
import { readConfig } from '../kernel/config.ts';

/** Where the server that this machine's settings describe is reached, and where it keeps its data. */
export async function ownServer(): Promise<OwnServer> {
  const { config, explained } = readConfig(process.env, process.cwd());
  const { host, port } = config.listen;
  const name = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '[::1]' : host.includes(':') ? `[${host}]` : host;
  const said = explained.find(({ key }) => key === (config.public_url ? 'public_url' : 'listen'));
  return {
    url: config.public_url || `${config.tls_cert ? 'https' : 'http'}://${name}:${port}`,
    dataDir: config.data,
    isFromFolder: said?.origin === 'file' && !process.env.QUARTERDECK_CONFIG,
  };
}
