import type { Steps } from '../../../kernel/steps.ts';

const nodesInStep = 500;

/**
 * The strongly connected component of each node: two nodes share one when each is reachable from the other. Tarjan's algorithm without
 * recursion, because a chain may be as long as the number of nodes.
 */
export function* stronglyConnected<T>(nodes: readonly T[], next: (node: T) => readonly T[]): Steps<Map<T, number>> {
  const components = new Map<T, number>();
  const order = new Map<T, number>();
  /** The earliest node known to be reachable from this one. */
  const earliest = new Map<T, number>();
  const open: T[] = [];
  const path: { node: T; rest: T[] }[] = [];
  const enter = (node: T) => {
    order.set(node, order.size);
    earliest.set(node, order.get(node)!);
    open.push(node);
    path.push({ node, rest: [...next(node)] });
  };
  const reaches = (node: T, other: number) => earliest.set(node, Math.min(earliest.get(node)!, other));
  const leave = (node: T) => {
    path.pop();
    const from = path.at(-1);
    if (from) reaches(from.node, earliest.get(node)!);
    if (earliest.get(node) !== order.get(node)) return;
    for (let member = open.pop(); member !== undefined; member = member === node ? undefined : open.pop())
      components.set(member, order.get(node)!);
  };
  let taken = 0;
  for (const start of nodes) {
    if (!order.has(start)) enter(start);
    for (let at = path.at(-1); at !== undefined; at = path.at(-1)) {
      if (++taken % nodesInStep === 0) yield;
      const to = at.rest.pop();
      if (to === undefined) leave(at.node);
      else if (!order.has(to)) enter(to);
      else if (!components.has(to)) reaches(at.node, order.get(to)!);
    }
  }
  return components;
}
