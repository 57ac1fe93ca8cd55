import type { Binaries } from '../../../../drivers/driver.ts';

/** What a shard server can run. */
export interface Installed {
  /** Of Kubernetes' own programs. */
  versions: readonly string[];
  hasEtcd: boolean;
  /** Its data directory: etcd's files of its clusters are there alone. */
  directory: string;
}

/** Programs are found while the server runs. True: there are others than before. */
export async function refreshInstalled(shard: { binaries: Binaries; installed: Installed }): Promise<boolean> {
  const { binaries, installed } = shard;
  const versions = (await binaries.list()).map(({ version }) => version).sort();
  const hasEtcd = (await binaries.etcd()) !== undefined;
  shard.installed = { ...installed, versions, hasEtcd };
  return versions.join() !== installed.versions.join() || hasEtcd !== installed.hasEtcd;
}
