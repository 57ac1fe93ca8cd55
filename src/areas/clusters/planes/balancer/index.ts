import { availableParallelism } from 'node:os';
import type { App } from '../../../../kernel/app.ts';
import type { BalancedCluster, BalancerFigures, Balancers, ClusterBalancer, ServingProblems } from '../../engine/balancer/listener.ts';
import { makeBalancerProcess } from './process.ts';
import type { ServedCluster } from './services.ts';

// Load balancers are served by programs beside the server (program.ts), so that the traffic of one organization does not hold up the API of all.
// An organization is served by one of them, which therefore counts its connections exactly. A program that ends is started again; meanwhile
// connections wait in copies of its listening sockets, which the server keeps, and which the next server gets at a reload.

/** A program takes one processor at most. */
const maxPrograms = Math.min(4, availableParallelism());

const nothing: BalancerFigures = { bytesIn: 0, bytesOut: 0, connections: 0 };

export function makeBalancers(app: Pick<App, 'log' | 'sockets' | 'config'>, answerMs?: number): Balancers {
  const settings = { allowPrivateCidrs: app.config.allow_private_cidrs, logLevel: app.config.log_level };
  const programs = Array.from({ length: maxPrograms }, () => ({
    process: makeBalancerProcess({ log: app.log, sockets: app.sockets, settings, answerMs }),
    /** Clusters that are open, by organization. */
    orgs: new Map<string, number>(),
  }));
  const programFor = (org: string) =>
    programs.find(({ orgs }) => orgs.has(org)) ?? programs.toSorted((a, b) => a.orgs.size - b.orgs.size)[0]!;
  let isDraining = false;

  function open(cluster: BalancedCluster): ClusterBalancer {
    const { id, org } = cluster;
    const { process, orgs } = programFor(org);
    orgs.set(org, (orgs.get(org) ?? 0) + 1);
    let isClosed = false;
    let isServed = false;
    const given = (): ServedCluster => ({ id, org, maxConnections: cluster.maxConnections(), mesh: cluster.mesh() });
    return {
      async serve({ uid, address, ports, nodes, sourceRanges, proxyProtocol }) {
        if (isClosed || isDraining) return {};
        isServed = true;
        const service = { uid, address, ports, nodes, sourceRanges, proxyProtocol };
        const unserved = ({ message }: Error): ServingProblems => ({ bind: `${address} is not served: ${message}` });
        return process.ask({ act: 'serve', cluster: given(), service }).catch(unserved);
      },
      async setNodes(uid, nodes) {
        if (!isClosed) await process.ask({ act: 'set nodes', cluster: id, uid, nodes });
      },
      close: async (uid) => void (isClosed || (await process.ask({ act: 'close', cluster: id, uid }))),
      figures: () => process.figures().get(id) ?? nothing,
      async closeAll() {
        if (isClosed) return;
        isClosed = true;
        if (isServed) await process.ask({ act: 'close all', cluster: id });
        const left = orgs.get(org)! - 1;
        if (left > 0) orgs.set(org, left);
        else orgs.delete(org);
      },
    };
  }

  return {
    open,
    connections: () =>
      programs.flatMap(({ process }) => [...process.figures().values()]).reduce((all, { connections }) => all + connections, 0),
    async drain(limitMs) {
      isDraining = true;
      await Promise.all(programs.map(({ process }) => process.ask({ act: 'drain', limitMs })));
    },
    stop: async () => void (await Promise.all(programs.map(({ process }) => process.stop()))),
  };
}
