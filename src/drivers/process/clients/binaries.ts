import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Binaries, EtcdPrograms, InstalledVersion } from '../../driver.ts';

// Kubernetes' own programs on this machine: `kine`, a folder for each version, and etcd's programs for dedicated datastores.

/** The programs of a version, besides kine. */
export const programNames = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler'] as const;

/** A version counts as installed without them. */
export const etcdNames = ['etcd', 'etcdutl'] as const;

/** The configured folder, or the default in the data directory. */
export const binariesDir = ({ cluster_binaries, data }: { cluster_binaries: string; data: string }): string =>
  cluster_binaries || join(data, 'clusters', 'bin');

/** A folder is named by its version. Previews and other builds are not in the catalog. */
const versionName = /^v\d{1,3}\.\d{1,4}\.\d{1,5}$/;
const cacheMs = 1_000;
/** Further folders are ignored. */
const maxVersions = 100;

export function openBinaries(dir: string): Binaries {
  let readAt = Number.NEGATIVE_INFINITY;
  let known: Promise<InstalledVersion[]> = Promise.resolve([]);
  const list = () => {
    if (performance.now() - readAt >= cacheMs) {
      readAt = performance.now();
      known = listInstalled(dir);
    }
    return known;
  };
  return {
    dir,
    kine: join(dir, 'kine'),
    etcd: () => findEtcd(dir),
    list,
    find: async (version) => (await list()).find((each) => each.version === version)?.dir,
  };
}

async function findEtcd(dir: string): Promise<EtcdPrograms | undefined> {
  const [etcd, etcdutl] = [join(dir, 'etcd'), join(dir, 'etcdutl')];
  return (await isProgram(etcd)) && (await isProgram(etcdutl)) ? { etcd, etcdutl } : undefined;
}

/** Versions with all programs; none without kine. An unreadable file counts as missing. */
export async function listInstalled(dir: string): Promise<InstalledVersion[]> {
  const [names, hasKine] = await Promise.all([readdir(dir).catch(() => []), isProgram(join(dir, 'kine'))]);
  if (!hasKine) return [];
  const versions = names.filter((name) => versionName.test(name)).slice(0, maxVersions);
  const found = await Promise.all(
    versions.map(async (version) => {
      const folder = join(dir, version);
      const all = await Promise.all(programNames.map((name) => isProgram(join(folder, name))));
      return all.every(Boolean) ? [{ version, dir: folder }] : [];
    }),
  );
  return found.flat();
}

/** Executable by every user, because programs of clusters do not run as root. */
const isProgram = async (path: string): Promise<boolean> => {
  const found = await stat(path).catch(() => undefined);
  return found?.isFile() === true && (found.mode & 0o111) === 0o111;
};
