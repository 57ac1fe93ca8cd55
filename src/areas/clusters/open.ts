import type { Host, Opened } from '../area.ts';
import { type Binaries, binariesDir, openBinaries } from './clients/process/binaries.ts';
import { type Answering, isThere } from './engine/answering.ts';
import { makeUnread } from './engine/embedded/unread.ts';
import { type RunningShard, startShard } from './engine/shard/index.ts';
import { makeTenants } from './engine/tenants.ts';
import { measure } from './metrics.ts';
import { makeFront } from './planes/front/index.ts';
import { joinPlane } from './planes/join/index.ts';
import type { ClusterRow } from './store/clusters.ts';

/** What clusters hold while their process runs. */
export interface OpenClusters extends Answering {
  isThere(cluster: ClusterRow): boolean;
  binaries: Binaries;
}

export function openClusters({ app, principals, roles }: Host): Opened<OpenClusters> {
  const binaries = openBinaries(binariesDir(app.config));
  const unread = makeUnread(app.log);
  const tenants = makeTenants(app, binaries, unread);
  const answering: Answering = { tenants, isShard: roles.has('shard') };
  let running: RunningShard | undefined;
  const startServing = async () => {
    const shard = await startShard({ app, tenants, front: makeFront(app.log, app.peers, { isBusy: app.watch.isBusy }), binaries, unread });
    running = shard;
    return {
      async stop() {
        running = undefined;
        await shard.stop();
      },
    };
  };
  return {
    own: { ...answering, binaries, isThere: (cluster) => isThere(answering, cluster) },
    planes: [joinPlane({ app, principals, tenants })],
    runs: { shard: startServing },
    metrics: (registry) => measure(registry, app.db, () => running, unread.bytes),
    stop: () => tenants.stop(),
  };
}
