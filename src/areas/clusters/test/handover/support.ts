import assert from 'node:assert/strict';
import { chmod, copyFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import Type from 'typebox';
import { freePort } from '../../../../../test/harness/free-port.ts';
import { type Quarterdeck, quarterdeck } from '../../../../../test/harness/index.ts';
import { urlOf } from '../../../../../test/harness/postgres.ts';
import { eventually, type ServerProcess, scratch, serverProcess } from '../../../../../test/harness/process.ts';
import { row } from '../../../../kernel/db/index.ts';
import { maps } from '../process/request-loop.ts';
import { adminOf, kube, readyCluster, type Way } from '../support.ts';

export type ShardProcess = ServerProcess & { dataDir: string };

export interface Machines extends Quarterdeck {
  /** A shard server with a data directory of its own, as on a machine of its own. */
  startShard(name: string, env?: Record<string, string>): Promise<ShardProcess>;
}

/** A server of the API, and shard servers over the same PostgreSQL, all at one port. */
export async function machines(t: TestContext, { env = {} }: { env?: Record<string, string> } = {}): Promise<Machines> {
  const shared = { QUARTERDECK_CLUSTER_LISTEN: `127.0.0.1:${await freePort()}`, ...env };
  const api = await quarterdeck(t, { env: { ...shared, QUARTERDECK_ROLES: 'api,worker' } });
  const { dir } = await scratch(t);
  await chmod(dir, 0o700); // like the database's socket: programs run as a user that can reach both
  return {
    ...api,
    async startShard(name, own = {}) {
      const dataDir = join(dir, name);
      await mkdir(dataDir, { recursive: true, mode: 0o711 });
      await copyFile(join(api.dataDir, 'secret.key'), join(dataDir, 'secret.key'));
      const server = serverProcess(t, {
        dir,
        dataDir,
        env: {
          ...shared,
          QUARTERDECK_DATABASE_URL: urlOf(api.connection),
          QUARTERDECK_PUBLIC_URL: api.url,
          QUARTERDECK_ROLES: 'shard',
          QUARTERDECK_LOG_LEVEL: 'info',
          ...own,
        },
      });
      await server.ready;
      return { ...server, dataDir };
    },
  };
}

/** A ready cluster with one object to read. */
export async function seeded({ owner }: Pick<Machines, 'owner'>, name: string): Promise<Way> {
  await readyCluster(owner, { name, tier: 'large' });
  const admin = await adminOf(owner, name);
  const made = await kube(admin, 'POST', maps, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'seed' } });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  return admin;
}

/** Until a server says so in its log. */
export const untilSaid = (server: ServerProcess, text: string): Promise<true> =>
  eventually(async () => server.stderr().includes(text) || undefined, { withinMs: 60_000 });

const HeirRow = Type.Object({ heir: Type.Union([Type.String(), Type.Null()]) });

/** The lease under which another server prepares the only cluster. */
export const heirOf = async ({ app }: Pick<Machines, 'app'>): Promise<string | null | undefined> =>
  (await app.db.read((tx) => row(tx, HeirRow)`select heir from clusters.cluster`))?.heir;
