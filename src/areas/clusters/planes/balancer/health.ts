import type { Guard } from '../../../../kernel/guard/index.ts';
import type { BalancedNode } from '../../rules/load-balancer.ts';

// Whether the nodes of one Service accept connections at its node port.

const limits = { intervalMs: 5_000, timeoutMs: 2_000, failures: 2, concurrency: 8 };

export interface NodeHealth {
  /** Nodes that accept connections, in turn; all of them if none does: the check may be wrong, and a refusal costs no more. */
  order(): BalancedNode[];
  /** A connection failed: the node gets no others until a check reaches it. */
  reportFailure(node: BalancedNode, why: string): void;
  /** Why no node accepts connections, by the last failure. */
  problem(): string | undefined;
  stop(): void;
}

export function makeNodeHealth(
  guardOf: (address: string) => Guard,
  nodes: () => readonly BalancedNode[],
  port: () => number | undefined,
): NodeHealth {
  const failures = new Map<string, { count: number; why: string }>();
  const stopping = new AbortController();
  let turn = 0;
  let isChecking = false;
  const keyOf = ({ name, address }: BalancedNode) => `${name} ${address}`;
  const isDown = (node: BalancedNode) => (failures.get(keyOf(node))?.count ?? 0) >= limits.failures;
  const report = (node: BalancedNode, why: string, by: number) => {
    const count = (failures.get(keyOf(node))?.count ?? 0) + by;
    failures.set(keyOf(node), { count, why });
  };
  const check = async (node: BalancedNode, at: number) => {
    try {
      const { socket } = await guardOf(node.address).connectTcp('node', node.address, at, {
        connectMs: limits.timeoutMs,
        signal: stopping.signal,
      });
      socket.destroy();
      failures.delete(keyOf(node));
    } catch (error) {
      report(node, (error as Error).message, 1);
    }
  };
  const checkAll = async () => {
    const at = port();
    if (isChecking || at === undefined) return;
    isChecking = true;
    const all = nodes();
    const known = new Set(all.map(keyOf));
    for (const key of failures.keys()) if (!known.has(key)) failures.delete(key);
    const waiting = all.values();
    const inTurn = async () => {
      for (const node of waiting) if (!stopping.signal.aborted) await check(node, at);
    };
    await Promise.all(Array.from({ length: limits.concurrency }, inTurn));
    isChecking = false;
  };
  const timer = setInterval(() => void checkAll(), limits.intervalMs).unref();
  return {
    order() {
      const all = nodes();
      const up = all.filter((node) => !isDown(node));
      const among = up.length > 0 ? up : all;
      const first = turn++ % Math.max(1, among.length);
      return [...among.slice(first), ...among.slice(0, first)];
    },
    reportFailure: (node, why) => report(node, why, limits.failures),
    problem() {
      const all = nodes();
      if (all.length === 0 || !all.every(isDown)) return undefined;
      return failures.get(keyOf(all[0]!))?.why;
    },
    stop() {
      clearInterval(timer);
      stopping.abort();
    },
  };
}
