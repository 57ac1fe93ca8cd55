/** A queue in which organizations take turns: whoever has much waiting waits behind themselves. */
export class RoundRobinQueue<T> {
  /** In the order of turns. An organization without anything waiting is absent. */
  readonly #queues = new Map<string, T[]>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Those that have something waiting, in the order of their turns. */
  get orgs(): string[] {
    return [...this.#queues.keys()];
  }

  sizeOf(org: string): number {
    return this.#queues.get(org)?.length ?? 0;
  }

  push(org: string, item: T): void {
    const items = this.#queues.get(org);
    if (items === undefined) this.#queues.set(org, [item]);
    else items.push(item);
    this.#size += 1;
  }

  /** For what had its turn and needs another one at once. */
  pushFirst(org: string, item: T): void {
    const items = this.#queues.get(org);
    if (items === undefined) this.#queues.set(org, [item]);
    else items.unshift(item);
    this.#size += 1;
  }

  next(): T | undefined {
    for (const [org, items] of this.#queues) {
      const item = items.shift()!;
      this.#queues.delete(org);
      if (items.length > 0) this.#queues.set(org, items);
      this.#size -= 1;
      return item;
    }
    return undefined;
  }

  /** Of each organization those at the head of its line for whom this holds. */
  removeWhile(holds: (item: T) => boolean): T[] {
    const removed: T[] = [];
    for (const [org, items] of this.#queues) {
      const at = items.findIndex((item) => !holds(item));
      removed.push(...items.splice(0, at < 0 ? items.length : at));
      if (items.length === 0) this.#queues.delete(org);
    }
    this.#size -= removed.length;
    return removed;
  }

  /** Everything of one organization. */
  drainOf(org: string): T[] {
    const items = this.#queues.get(org) ?? [];
    this.#queues.delete(org);
    this.#size -= items.length;
    return items;
  }

  /** Everything, and nothing is left. */
  drain(): T[] {
    const all = [...this.#queues.values()].flat();
    this.#queues.clear();
    this.#size = 0;
    return all;
  }
}
