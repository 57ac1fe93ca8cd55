import type { Steps } from '../../../kernel/steps.ts';

const nodesInStep = 500;

/** Which knot each node is in: two share one when each leads to the other, and a node that leads to nothing which leads back has its
 *  own. By Tarjan's algorithm, without recursion: a chain may be as long as there are nodes. */
export function* knotsOf<T>(nodes: readonly T[], next: (node: T) => readonly T[]): Steps<Map<T, number>> {
  const knots = new Map<T, number>();
  const order = new Map<T, number>();
  /** The earliest node that is known to be reached from this one. */
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
      knots.set(member, order.get(node)!);
  };
  let taken = 0;
  for (const start of nodes) {
    if (!order.has(start)) enter(start);
    for (let at = path.at(-1); at !== undefined; at = path.at(-1)) {
      if (++taken % nodesInStep === 0) yield;
      const to = at.rest.pop();
      if (to === undefined) leave(at.node);
      else if (!order.has(to)) enter(to);
      else if (!knots.has(to)) reaches(at.node, order.get(to)!);
    }
  }
  return knots;
}
