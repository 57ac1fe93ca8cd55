import type { Binaries } from '../../drivers/driver.ts';
import { makeUnreadLimiter } from '../../drivers/embedded/index.ts';
import { binariesDir, openBinaries } from '../../drivers/process/index.ts';
import type { Ending } from '../../kernel/lifecycle/ending.ts';
import type { Host, Opened } from '../area.ts';
import { makeMeshHost } from './clients/mesh/host.ts';
import { type RunningShard, startShard } from './engine/shard/index.ts';
import { isServed, type ShardAvailability } from './engine/shard-availability.ts';
import { makeTenantClusters } from './engine/tenant-clusters.ts';
import { registerMetrics } from './metrics.ts';
import { makeBalancers } from './planes/balancer/index.ts';
import { type HoldingRoom, makeHoldingRoom } from './planes/front/holding.ts';
import { makeFront } from './planes/front/index.ts';
import { servePlanes } from './planes/front/serve-planes.ts';
import { joinPlane } from './planes/join/index.ts';
import { makeMeshDoor } from './planes/mesh/index.ts';
import type { ClusterRow } from './store/clusters.ts';

/** State of the clusters area for as long as its process runs. */
export interface OpenClusters extends ShardAvailability {
  isServed(cluster: ClusterRow): boolean;
  binaries: Binaries;
}

export function openClusters({ app, principals, roles }: Host): Opened<OpenClusters> {
  const binaries = openBinaries(binariesDir(app.config));
  const unread = makeUnreadLimiter(app.log);
  const tenants = makeTenantClusters(app, binaries, unread);
  const answering: ShardAvailability = { tenants, isShard: roles.has('shard') };
  let running: RunningShard | undefined;
  let holding: HoldingRoom | undefined;
  const startServing = async () => {
    const httpFront = makeFront(app.log, app.peers, { isBusy: app.watch.isBusy, sockets: app.sockets });
    const room = makeHoldingRoom();
    holding = room;
    const front = servePlanes(app, httpFront, makeMeshDoor(app), room);
    const meshHost = makeMeshHost(app.config.data, app.log);
    const balancers = makeBalancers(app);
    const shard = await startShard({
      app,
      tenants,
      front,
      balancers,
      meshHost,
      binaries,
      unread,
      holdOf: (cluster, org) => room.of(cluster, org),
    });
    running = shard;
    return {
      passOn: shard.passOn,
      drain: shard.drain,
      async stop(ending: Ending) {
        running = undefined;
        await shard.stop(ending);
        await Promise.all([balancers.stop(), meshHost.stop()]);
      },
    };
  };
  return {
    own: { ...answering, binaries, isServed: (cluster) => isServed(answering, cluster) },
    planes: [joinPlane({ app, principals, tenants })],
    runs: { shard: startServing },
    metrics: (registry) =>
      registerMetrics(registry, app.db, { shard: () => running, unreadBytes: unread.bytes, heldRequests: () => holding?.size() ?? 0 }),
    stop: () => tenants.stop(),
  };
}
