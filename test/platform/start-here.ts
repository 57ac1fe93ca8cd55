import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { areas } from '../../src/areas/index.ts';
import { readConfig } from '../../src/kernel/config.ts';
import { makeLog } from '../../src/kernel/log.ts';
import { type Running, serve } from '../../src/serve.ts';
import { ownPorts } from '../harness/own-ports.ts';
import { type Caller, caller } from '../harness/request.ts';

export interface StartedHere extends Running {
  /** With `data/owner.token`, as the command line beside it would. */
  owner(): Promise<Caller & { key: string }>;
}

interface Where {
  dir: string;
  dataDir?: string;
  env?: Record<string, string>;
}

/** The whole product as `quarterdeck serve` starts it, its own PostgreSQL included, but in this process: a start that nobody kills is as good here. */
export async function startHere(t: TestContext, { dir, dataDir = join(dir, 'data'), env = {} }: Where): Promise<StartedHere> {
  const given = { ...ownPorts, QUARTERDECK_DNS_SERVERS: '127.0.0.1:1', QUARTERDECK_RATE_LIMIT: '0', QUARTERDECK_DATA: dataDir, ...env };
  const running = await serve({ config: readConfig(given, dir).config, log: makeLog('silent'), areas, strict: true });
  t.after(() => running.stop());
  const owner = async () => {
    const key = (await readFile(join(dataDir, 'owner.token'), 'utf8')).trim();
    return { key, ...caller(running.url, key) };
  };
  return { ...running, owner };
}
