import { enableAddons, listAddons } from '../../areas/clusters/index.ts';
import { audit, operator } from '../../identity/audit.ts';
import { installation } from '../organization.ts';
import { type OutputOptions, printJson, printTable } from '../output.ts';
import type { Session } from '../session.ts';

export async function listClusterAddons({ db }: Session, options: OutputOptions): Promise<void> {
  const found = await db.read(listAddons);
  if (options.json) return printJson({ addons: found });
  printTable(
    found.map(({ cluster, id, on, version, problem }) => ({
      cluster,
      id,
      addons: on ? 'on' : 'off',
      version: version ?? '',
      problem: problem ?? '',
    })),
    'no cluster runs Kubernetes’ own programs',
  );
}

export async function enableClusterAddons({ db }: Session, cluster: string): Promise<void> {
  const enabled = await db.write(async (tx) => {
    const found = await enableAddons(tx, cluster);
    await audit(tx, operator(installation), 'clusters.addons.enable', { id: found.id }, { cluster: found.cluster });
    return found;
  });
  console.log(
    `${enabled.cluster} gets kube-proxy and CoreDNS within a minute or two; objects that have their names already stay as they are`,
  );
}
