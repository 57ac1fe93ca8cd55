import { once } from 'node:events';
import { createServer } from 'node:net';
import type { Config, ExplainedSetting, Key } from '../kernel/config.ts';
import type { ListeningSockets } from '../kernel/lifecycle/listening-sockets.ts';

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

/** The port that a server which crashed has left, else the first free one from this one on; 0, which lets the system choose, if there is none nearby. */
async function choosePortFrom(host: string, first: number, { isLeft }: Pick<ListeningSockets, 'isLeft'>): Promise<number> {
  const near = Array.from({ length: maxTries }, (_, n) => first + n);
  const left = near.find((port) => isLeft({ host, port }));
  if (left !== undefined) return left;
  for (const port of near) if (await isFree(host, port)) return port;
  return 0;
}

const portSettings = ['listen', 'smtp_submission', 'smtps', 'smtp_inbound', 'cluster_listen'] as const satisfies readonly Key[];

/** Free ports near the usual ones, for addresses that the operator left to us. An address that is set stays. */
export async function choosePorts(
  config: Config,
  explained: readonly ExplainedSetting[],
  sockets: Pick<ListeningSockets, 'isLeft'>,
): Promise<Pick<Config, (typeof portSettings)[number]>> {
  const chosen = portSettings.map(async (key) => {
    const isSet = explained.some((each) => each.key === key && each.origin !== 'default');
    const { host, port } = config[key];
    return [key, isSet ? config[key] : { host, port: await choosePortFrom(host, port, sockets) }] as const;
  });
  return Object.fromEntries(await Promise.all(chosen)) as Pick<Config, (typeof portSettings)[number]>;
}
