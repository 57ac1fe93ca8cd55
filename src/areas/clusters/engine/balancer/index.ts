import { setTimeout as sleep } from 'node:timers/promises';
import type { ControlPlane } from '../../../../drivers/driver.ts';
import { isUnavailable } from '../../../../kernel/db/index.ts';
import { runFor } from '../../../../kernel/fairness/index.ts';
import { makeInterruptibleSleep } from '../../../../kernel/jobs/interruptible-sleep.ts';
import { balancedServicesPath, nodesPath, slicesPath } from '../../clients/tenant/services.ts';
import { type BalancedService, type NodeState, readNode } from '../../rules/load-balancer.ts';
import { tierOf } from '../../rules/tiers.ts';
import { balancersOf, countPools } from '../../store/load-balancers.ts';
import { addressFree, poolAdded } from '../channels.ts';
import type { BalancerFigures } from './listener.ts';
import { type BalancerParts, type BalancerState, reconcile } from './reconcile.ts';

// Load balancers of one cluster, at the server that holds its lease. A pass (reconcile.ts) compares the Services with the addresses in the
// database and with the open listeners. Watches only say that a pass is due, so a missed event costs at most the time to the next one.

/** After a change several more follow: they share a pass. */
const settleMs = 200;
const resyncMs = 30_000;
/** How long a stop waits for a pass under way. */
const stopMs = 2_000;
const retryMs = 5_000;
/** Deletions that the watch of nodes missed are found this often. */
const nodesAgainMs = 60_000;

export interface RunningBalancer {
  /** The cluster's row has changed. */
  poke(): void;
  /** Services with an address, and what went through their listeners. */
  figures(): BalancerFigures & { services: number };
  stop(): Promise<void>;
}

export function startBalancer(parts: BalancerParts): RunningBalancer {
  const { app, plane, cluster, listeners } = parts;
  const nudge = makeInterruptibleSleep();
  const state: BalancerState = {
    ...parts,
    nodes: new Map(),
    nodesReadAt: Number.NEGATIVE_INFINITY,
    told: new Map(),
    isStopped: () => stopped,
  };
  let stopped = false;
  let isPoked = false;
  let isPending = false;
  let services = 0;
  const poke = () => {
    isPoked = true;
    nudge.wake();
  };
  const watches = makeWatches(plane, poke, state);
  // Other clusters wake it for nothing else: what one organization changes must not have the Services of all clusters read.
  const endHearing = [
    app.waker.subscribe(poolAdded, () => (isPending || services === 0 ? poke() : undefined)),
    app.waker.subscribe(addressFree, () => (isPending ? poke() : undefined)),
  ];

  const pass = async () => {
    const isWanted = cluster().load_balancers;
    const [held, pools] = await app.db.read((tx) => Promise.all([balancersOf(tx, cluster().id), countPools(tx)]));
    services = held.length;
    const isOn = isWanted && (pools > 0 || held.length > 0);
    if (!isOn) watches.end();
    if (!isOn && held.length === 0) {
      isPending = false;
      return;
    }
    if (isOn) watches.begin();
    if (performance.now() - state.nodesReadAt > nodesAgainMs) state.nodesReadAt = Number.NEGATIVE_INFINITY;
    const done = await reconcile(state, isOn);
    services = done.held;
    isPending = done.isPending;
    watches.follow(done.local);
  };
  const loop = (async () => {
    while (!stopped) {
      isPoked = false;
      let hasFailed = false;
      await runFor({ org: cluster().org_id, operation: 'clusters.balancer' }, pass, app.watch).catch((error) => {
        hasFailed = true;
        if (!isUnavailable(error) && !stopped)
          app.log.warn({ err: error, cluster: cluster().id }, 'load balancers could not be looked after');
      });
      if (stopped) break;
      if (!isPoked) await nudge.sleep(hasFailed || isPending ? retryMs : resyncMs);
      if (!stopped) await sleep(settleMs);
    }
  })();
  return {
    poke,
    figures: () => ({ ...listeners.figures(), services }),
    async stop() {
      stopped = true;
      for (const end of endHearing) end();
      watches.end();
      nudge.wake();
      // First, so that the next holder can listen; a pass may wait for an apiserver that does not answer.
      await listeners.closeAll();
      await Promise.race([loop, sleep(stopMs, undefined, { ref: false })]);
    },
  };
}

/** Watches of Services, of nodes, and of the endpoints of Services that send only to nodes with endpoints. */
function makeWatches(plane: ControlPlane, poke: () => void, { nodes, cluster }: BalancerState) {
  let ends: (() => void)[] = [];
  const slices = new Map<string, () => void>();
  const onNode = ({ type, object }: { type: string; object: unknown }) => {
    if (type === 'BOOKMARK') return;
    const node = readNode(object);
    const before = nodes.get(node.name);
    if (type === 'DELETED') nodes.delete(node.name);
    else if (before || nodes.size < tierOf(cluster().tier).nodes) nodes.set(node.name, node);
    if (!isSameNode(before, nodes.get(node.name))) poke();
  };
  return {
    begin() {
      if (ends.length === 0) ends = [plane.watch(balancedServicesPath, poke), plane.watch(nodesPath, onNode)];
    },
    /** Of these Services, and of no others. */
    follow(services: readonly BalancedService[]) {
      const wanted = new Map(services.map((service) => [slicesPath(service), service]));
      for (const [path, end] of slices)
        if (!wanted.has(path)) {
          slices.delete(path);
          end();
        }
      for (const path of wanted.keys()) if (!slices.has(path)) slices.set(path, plane.watch(path, poke));
    },
    end() {
      for (const end of [...ends, ...slices.values()]) end();
      ends = [];
      slices.clear();
    },
  };
}

const isSameNode = (a: NodeState | undefined, b: NodeState | undefined) =>
  a === b || (a !== undefined && b !== undefined && a.ready === b.ready && a.isExcluded === b.isExcluded && a.address === b.address);
