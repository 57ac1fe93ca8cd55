import { enableAddons, listAddons } from '../../areas/clusters/index.ts';
import { type OutputOptions, printJson, printTable } from '../output.ts';
import type { Session } from '../session.ts';
import { actOnCluster } from './act.ts';

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

export async function enableClusterAddons(session: Session, cluster: string): Promise<void> {
  const enabled = await actOnCluster(session, 'clusters.addons.enable', (tx) => enableAddons(tx, cluster));
  console.log(
    `${enabled.cluster} gets kube-proxy and CoreDNS within a minute or two; objects that have their names already stay as they are`,
  );
}
