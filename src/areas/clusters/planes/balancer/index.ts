import { availableParallelism } from 'node:os';
import type { App } from '../../../../kernel/app.ts';
import type { BalancedCluster, Balancers, ClusterBalancer, ServingProblems } from '../../engine/balancer/listener.ts';
import type { ServedCluster } from './channel.ts';
import { ProgramBeside } from './process.ts';

// Load balancers are served by programs beside the server (program.ts), so that the traffic of one organization does not hold up the API of all.
// An organization is served by one of them, which therefore counts its connections exactly. A program that ends is started again; meanwhile
// connections wait in copies of its listening sockets, which the server keeps, and which the next server gets at a reload.

/** A program takes one processor at most. */
const maxPrograms = Math.min(4, availableParallelism());

export function makeBalancers(app: Pick<App, 'log' | 'sockets' | 'config'>, answerMs?: number): Balancers {
  const settings = { allowPrivateCidrs: app.config.allow_private_cidrs, logLevel: app.config.log_level };
  const programs = Array.from({ length: maxPrograms }, () => ({
    process: new ProgramBeside({ log: app.log, sockets: app.sockets, settings, answerMs }),
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
    let closing: Promise<void> | undefined;
    let isServed = false;
    const leave = async () => {
      if (isServed) await process.ask({ act: 'close all', cluster: id });
      const left = orgs.get(org)! - 1;
      if (left > 0) orgs.set(org, left);
      else orgs.delete(org);
    };
    const given = (): ServedCluster => ({ id, org, maxConnections: cluster.maxConnections(), mesh: cluster.mesh() });
    return {
      async serve({ uid, address, ports, nodes, sourceRanges, proxyProtocol }) {
        if (closing || isDraining) return {};
        isServed = true;
        const service = { uid, address, ports, nodes, sourceRanges, proxyProtocol };
        const unserved = ({ message }: Error): ServingProblems => ({ bind: `${address} is not served: ${message}` });
        return process.ask({ act: 'serve', cluster: given(), service }).catch(unserved);
      },
      async setNodes(uid, nodes) {
        if (!closing) await process.ask({ act: 'set nodes', cluster: given(), uid, nodes });
      },
      close: async (uid) => void (await (closing ?? process.ask({ act: 'close', cluster: id, uid }))),
      figures: () => process.figuresOf(id),
      closeAll() {
        closing ??= leave();
        return closing;
      },
    };
  }

  return {
    open,
    connections: () => programs.reduce((all, { process }) => all + process.connections(), 0),
    async drain(limitMs) {
      isDraining = true;
      await Promise.all(programs.map(({ process }) => process.ask({ act: 'drain', limitMs })));
    },
    stop: async () => void (await Promise.all(programs.map(({ process }) => process.stop()))),
  };
}
