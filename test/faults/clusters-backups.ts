/** A shard server dies at each step of a backup and of a restore, one server after the other. */
import { test } from 'node:test';
import { backupPoints, dieInBackup, dieInRestore, restorePoints } from '../../src/areas/clusters/test/backups/killed.ts';

test('killed at any step of a backup, the next server makes a whole one', { timeout: 3_600_000 }, (t) => dieInBackup(t, backupPoints));

test('killed at any step of a restore, the cluster has the objects from before or those of the backup', { timeout: 3_600_000 }, (t) =>
  dieInRestore(t, restorePoints),
);
