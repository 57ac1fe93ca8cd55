/** A queue in which organizations take turns: an organization with many items delays only itself. */
export class RoundRobinQueue<T> {
  /** In order of turns. An organization without items is absent. */
  readonly #queues = new Map<string, T[]>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Organizations with items, in order of turns. */
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

  /** For an item that had its turn and is retried at once. */
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

  /** Removes from the head of each organization's queue while the predicate holds. */
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

  /** Removes and returns all items of one organization. */
  drainOf(org: string): T[] {
    const items = this.#queues.get(org) ?? [];
    this.#queues.delete(org);
    this.#size -= items.length;
    return items;
  }

  /** Removes and returns all items. */
  drain(): T[] {
    const all = [...this.#queues.values()].flat();
    this.#queues.clear();
    this.#size = 0;
    return all;
  }
}
