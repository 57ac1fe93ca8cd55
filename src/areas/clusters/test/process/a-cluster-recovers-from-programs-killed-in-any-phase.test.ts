import { test } from 'node:test';
import { killWhileAllAreBusy, phases, type Stage, stageClusters } from './kill-in-every-phase.ts';
import { recordsBelow, withPrograms } from './support.ts';

/** kill -9 of every program of a kind, of these clusters. */
async function killAll(kind: string, dirs: string[]): Promise<void> {
  const records = (await Promise.all(dirs.map(recordsBelow))).flat().filter((record) => record.kind === kind);
  for (const { pid } of records) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // of the one that is deleted: it has ended
    }
  }
}

/** Twice what a test has otherwise: two kills, one after the other. */
const timeout = 360_000;

test('clusters recover when programs are killed during creation, change and deletion', { timeout }, async (t) => {
  const { owner, dataDir, binaries } = await withPrograms(t);
  const stage: Stage = await stageClusters(owner, dataDir, binaries);
  for (const [n, kind] of ['kine', 'kube-apiserver'].entries())
    await t.test(`every ${kind}`, () =>
      killWhileAllAreBusy(stage, phases[n]!, async (busy) => {
        await killAll(kind, busy);
        return owner;
      }),
    );
});
