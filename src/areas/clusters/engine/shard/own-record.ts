import { chmod, mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { App } from '../../../../kernel/app.ts';
import { isRunning, markOf, type ProcessMark, pidSpace } from '../../../../kernel/programs/process.ts';
import { readRecord, writeRecord } from '../../../../kernel/programs/start.ts';
import { endLeasesOf } from '../../store/handover.ts';
import { removeShard } from '../../store/shards.ts';

// A server notes in its data directory which row of clusters.shard is its own. The next server there finds one that was killed, and need not wait
// until its silence is noticed. What cannot be written or read costs only that time.

interface ShardRecord extends ProcessMark {
  /** As `pidSpace`. */
  among: string;
}

const folderOf = (dataDir: string) => join(dataDir, 'clusters', 'shards');

export async function noteShard({ config }: App, id: string): Promise<void> {
  const mark = await markOf(process.pid);
  if (!mark) return;
  const above = join(config.data, 'clusters');
  if (await mkdir(above, { recursive: true, mode: 0o711 })) await chmod(above, 0o711); // programs of clusters pass through
  await mkdir(folderOf(config.data), { recursive: true, mode: 0o700 });
  await writeRecord(join(folderOf(config.data), `${id}.json`), { ...mark, among: await pidSpace() } satisfies ShardRecord);
}

export const forgetShard = ({ config }: App, id: string): Promise<void> => rm(join(folderOf(config.data), `${id}.json`), { force: true });

/** Ends the leases of servers of this data directory that were killed. */
export async function endKilledShards(app: App): Promise<void> {
  const folder = folderOf(app.config.data);
  const among = await pidSpace();
  if (among === '') return;
  for (const file of await readdir(folder).catch(() => [])) {
    const [, id] = /^([0-9a-f-]{36})\.json$/.exec(file) ?? [];
    const record = id === undefined ? undefined : await readRecord<ShardRecord>(join(folder, file));
    if (id === undefined || !record) continue;
    // Of another boot, or of the machine that this directory was copied from: nothing here can tell whether it runs.
    if (record.among !== among) {
      await rm(join(folder, file), { force: true });
      continue;
    }
    if (await isRunning(record)) continue;
    await app.db.write(async (tx) => {
      await endLeasesOf(tx, id);
      await removeShard(tx, id);
    });
    await rm(join(folder, file), { force: true });
  }
}
