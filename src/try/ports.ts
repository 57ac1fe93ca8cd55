import { once } from 'node:events';
import { createServer } from 'node:net';
import type { Config, ExplainedSetting, Key } from '../kernel/config.ts';

const maxTries = 50;

async function isFree(host: string, port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen(port, host);
    await once(server, 'listening');
    return true;
  } catch {
    return false;
  } finally {
    server.close();
  }
}

/** The first free port from this one on; 0, which lets the system choose, if there is none nearby. */
async function freePortFrom(host: string, first: number): Promise<number> {
  for (let port = first; port < first + maxTries; port++) if (await isFree(host, port)) return port;
  return 0;
}

const portSettings = ['listen', 'smtp_submission', 'smtps', 'smtp_inbound', 'cluster_listen'] as const satisfies readonly Key[];

/** Free ports near the usual ones, for addresses that the operator left to us. An address that is set stays. */
export async function choosePorts(
  config: Config,
  explained: readonly ExplainedSetting[],
): Promise<Pick<Config, (typeof portSettings)[number]>> {
  const chosen = portSettings.map(async (key) => {
    const isSet = explained.some((each) => each.key === key && each.origin !== 'default');
    const { host, port } = config[key];
    return [key, isSet ? config[key] : { host, port: await freePortFrom(host, port) }] as const;
  });
  return Object.fromEntries(await Promise.all(chosen)) as Pick<Config, (typeof portSettings)[number]>;
}
