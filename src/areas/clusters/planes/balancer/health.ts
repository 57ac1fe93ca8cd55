import type { Socket } from 'node:net';
import type { DialOptions } from '../../../../kernel/guard/index.ts';
import type { BalancedNode } from '../../rules/load-balancer.ts';

// Whether the nodes of one Service accept connections at its node ports, each port by itself: a dead one takes no node from the others.

const limits = { intervalMs: 5_000, timeoutMs: 2_000, failures: 2, concurrency: 8 };

export interface NodeHealth {
  /** Nodes that accept connections at this port, in turn; all of them if none does: the check may be wrong, and a refusal costs no more. */
  order(port: number): BalancedNode[];
  /** A connection failed: the node gets no others at this port until a check reaches it. */
  reportFailure(node: BalancedNode, port: number, why: string): void;
  /** Why no node accepts connections at a port, by the last failure. */
  problem(): string | undefined;
  stop(): void;
}

interface Place {
  node: BalancedNode;
  port: number;
}

/** The first port is checked at every node, the others where a connection failed. */
export function makeNodeHealth(
  dial: (node: BalancedNode, port: number, options: DialOptions) => Promise<Socket>,
  nodes: () => readonly BalancedNode[],
  ports: () => readonly number[],
): NodeHealth {
  const failures = new Map<string, { count: number; why: string }>();
  const stopping = new AbortController();
  let turn = 0;
  let isChecking = false;
  const keyOf = ({ node: { name, address }, port }: Place) => `${name} ${address} ${port}`;
  const isDown = (place: Place) => (failures.get(keyOf(place))?.count ?? 0) >= limits.failures;
  const report = (place: Place, why: string, by: number) => {
    const count = (failures.get(keyOf(place))?.count ?? 0) + by;
    failures.set(keyOf(place), { count, why });
  };
  const check = async (place: Place) => {
    const { node, port } = place;
    try {
      const socket = await dial(node, port, { connectMs: limits.timeoutMs, signal: stopping.signal });
      socket.destroy();
      failures.delete(keyOf(place));
    } catch (error) {
      report(place, (error as Error).message, 1);
    }
  };
  const checkAll = async () => {
    if (isChecking) return;
    isChecking = true;
    const [first] = ports();
    const all = ports().flatMap((port) => nodes().map((node) => ({ node, port })));
    const known = new Set(all.map(keyOf));
    for (const key of failures.keys()) if (!known.has(key)) failures.delete(key);
    const waiting = all.filter((place) => place.port === first || failures.has(keyOf(place))).values();
    const inTurn = async () => {
      for (const place of waiting) if (!stopping.signal.aborted) await check(place);
    };
    await Promise.all(Array.from({ length: limits.concurrency }, inTurn));
    isChecking = false;
  };
  const timer = setInterval(() => void checkAll(), limits.intervalMs).unref();
  return {
    order(port) {
      const all = nodes();
      const up = failures.size === 0 ? all : all.filter((node) => !isDown({ node, port }));
      const among = up.length > 0 ? up : all;
      const first = turn++ % Math.max(1, among.length);
      return [...among.slice(first), ...among.slice(0, first)];
    },
    reportFailure: (node, port, why) => report({ node, port }, why, limits.failures),
    problem() {
      const all = nodes();
      const dead = all.length === 0 ? undefined : ports().find((port) => all.every((node) => isDown({ node, port })));
      if (dead === undefined) return undefined;
      return `no node accepts connections at node port ${dead}: ${failures.get(keyOf({ node: all[0]!, port: dead }))?.why}`;
    },
    stop() {
      clearInterval(timer);
      stopping.abort();
    },
  };
}
