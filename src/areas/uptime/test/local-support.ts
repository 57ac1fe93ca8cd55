import { readFile } from 'node:fs/promises';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import Type from 'typebox';
import type { Quarterdeck } from '../../../../test/harness/index.ts';
import { rows } from '../../../kernel/db/index.ts';

/** Settings with which a server checks programs of this machine every few seconds. */
export const nearby = { QUARTERDECK_ALLOW_PRIVATE_CIDRS: 'uptime=127.0.0.0/8', QUARTERDECK_UPTIME_INTERVALS: '5,60' };

export interface Target {
  url: string;
  hits: number;
  status: number;
}

/** Something to check. */
export async function target(t: TestContext): Promise<Target> {
  const its: Target = { url: '', hits: 0, status: 200 };
  const server = http.createServer((_request, response) => {
    its.hits++;
    response.writeHead(its.status).end('hello');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  its.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return its;
}

/** The prober that works in one of a data directory's places; undefined: none. */
export async function proberPid(dataDir: string, place = 0): Promise<number | undefined> {
  const pid = Number.parseInt(await readFile(join(dataDir, 'uptime', `prober-${place}`, 'prober.pid'), 'utf8').catch(() => ''), 10);
  return pid > 0 && isAlive(pid) ? pid : undefined;
}

const Live = Type.Object({ id: Type.String(), standby: Type.Boolean() });
export const liveInstances = ({ app }: Pick<Quarterdeck, 'app'>) =>
  app.db.read(
    (tx) =>
      rows(tx, Live)`select id, standby from uptime.instance where vantage = 'local' and seen_at > kernel.now() - interval '45 seconds'`,
  );

export const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};
