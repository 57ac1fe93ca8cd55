import { test } from 'node:test';
import { killInEveryPhase } from './kill-in-every-phase.ts';
import { recordsBelow } from './support.ts';

for (const kind of ['kine', 'kube-apiserver'])
  test(`every ${kind} is killed while clusters are made, changed and deleted`, (t) =>
    killInEveryPhase(t, async (_, others) => {
      const records = (await Promise.all(others.map(recordsBelow))).flat().filter((record) => record.kind === kind);
      for (const { pid } of records) {
        try {
          process.kill(pid, 'SIGKILL');
        } catch {
          // of the one that is deleted: it has ended
        }
      }
      return undefined;
    }));
