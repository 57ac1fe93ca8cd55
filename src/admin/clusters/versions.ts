import { readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { countOfVersion } from '../../areas/clusters/index.ts';
import { binariesDir, listInstalled } from '../../drivers/process/index.ts';
import { audit, operator } from '../../identity/audit.ts';
import { exitCodes, Stop } from '../../kernel/errors.ts';
import { installation } from '../organization.ts';
import { type OutputOptions, printRows } from '../output.ts';
import { readSettings, type Session } from '../session.ts';
import { requireReal } from './install.ts';

export async function listVersions(options: OutputOptions): Promise<void> {
  const dir = binariesDir(readSettings());
  const whole = new Set((await listInstalled(dir)).map(({ version }) => version));
  const folders = (await readdir(dir).catch(() => [])).filter((name) => /^v\d/.test(name)).sort();
  const rows = folders.map((version) => ({ version, state: whole.has(version) ? 'installed' : 'not whole: install it again' }));
  printRows(options, rows, `no version of Kubernetes’ own programs is in ${dir}; quarterdeck admin clusters install v1.36.4 brings one`);
}

/** Clusters of this version go on until they are started anew, so it stays while there are any. */
export async function removeVersion({ config, db }: Session, version: string): Promise<void> {
  requireReal(version);
  const folder = join(binariesDir(config), version);
  const aside = join(binariesDir(config), `.removing-${version}`);
  await rm(aside, { recursive: true, force: true }); // of one that was cut off
  await db.write(async (tx) => {
    const clusters = await countOfVersion(tx, version);
    if (clusters > 0) throw new Stop(exitCodes.refused, `${clusters} clusters run ${version}; upgrade or delete them first`);
    await audit(tx, operator(installation), 'clusters.version.remove', { id: version });
    // Last: if it fails, nothing was done and nothing is said to be.
    await rename(folder, aside).catch((error) => {
      throw new Stop(exitCodes.refused, `${version} is not in ${binariesDir(config)} (${error.code})`, { cause: error });
    });
  });
  await rm(aside, { recursive: true });
  console.log(`${version} is removed`);
}
