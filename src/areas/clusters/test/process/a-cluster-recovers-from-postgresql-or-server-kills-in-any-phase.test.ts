import { test } from 'node:test';
import { KillableServers } from '../../../../../test/harness/kill/index.ts';
import { postgresOf, scratch } from '../../../../../test/harness/process.ts';
import { killWhileAllAreBusy, phases, stageClusters } from './kill-in-every-phase.ts';
import { clustersAlone, fakeBinaries, programsIn } from './support.ts';

/** Twice what a test has otherwise: two kills, one after the other. */
const timeout = 360_000;

test('clusters recover when PostgreSQL, then the server, is killed during creation, change and deletion', { timeout }, async (t) => {
  const binaries = await fakeBinaries(t);
  const { dir, dataDir } = await scratch(t, { isMigrated: true });
  const env = await clustersAlone(binaries);
  const servers = new KillableServers(t, { dir, dataDir, env: () => env });
  try {
    const owner = await servers.start().owner();
    const stage = await stageClusters(owner, dataDir, binaries);
    await t.test('PostgreSQL', () =>
      killWhileAllAreBusy(stage, phases[0], async () => {
        process.kill((await postgresOf(dataDir))!, 'SIGKILL');
        return owner;
      }),
    );
    await t.test('the server', () =>
      killWhileAllAreBusy(stage, phases[1], async () => {
        await servers.kill();
        return servers.start().owner();
      }),
    );
  } finally {
    // The server, then what it left running.
    await servers.kill();
    for (const pid of await programsIn(dataDir)) process.kill(pid, 'SIGKILL');
  }
});
