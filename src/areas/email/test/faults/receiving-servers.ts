import type { TestContext } from 'node:test';
import { freePort } from '../../../../../test/harness/free-port.ts';
import { type Quarterdeck, quarterdeck } from '../../../../../test/harness/index.ts';
import { atStatement, KillableServers } from '../../../../../test/harness/kill/index.ts';
import { scratch } from '../../../../../test/harness/process.ts';
import { withoutOthers } from '../mail-scene.ts';

interface Scene {
  qd: Quarterdeck;
  env: Record<string, string>;
}

const envOf = ({ qd, env }: Scene) => ({ ...env, QUARTERDECK_ROLES: 'smtp,worker', QUARTERDECK_PUBLIC_URL: qd.url });

/** A further server on the same database and data directory, which receives mail, reads it and tells of it; it may die at a statement. */
export async function taking(t: TestContext, scene: Scene, dieing?: string) {
  const port = await freePort();
  const { dir } = await scratch(t);
  const { connection, dataDir } = scene.qd;
  const env = { ...envOf(scene), QUARTERDECK_SMTP_INBOUND: `127.0.0.1:${port}` };
  const servers = new KillableServers(t, { dir, dataDir, connection, env: () => env, nodeFlags: withoutOthers });
  const [, schema, point] = /^([^:]+):(.+)$/.exec(dieing ?? '') ?? [];
  const server = servers.start(0, schema ? atStatement(schema, point!) : undefined);
  // Mail of the server before may bring it to its point while it still starts.
  await (dieing ? Promise.race([server.ready.catch(() => {}), server.exited]) : server.ready);
  return { server, port };
}

/** One that takes over and lives: a server in this process does the same, and loads nothing. */
export const takingOver = (t: TestContext, scene: Scene) =>
  quarterdeck(t, { connection: scene.qd.connection, dataDir: scene.qd.dataDir, env: envOf(scene) });
