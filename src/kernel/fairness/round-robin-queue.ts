import { append } from '../steps.ts';

/** A queue in which keys (organizations, addresses) take turns: a key with many items delays only itself. It bounds nothing by itself. */
export class RoundRobinQueue<T> {
  /** In order of turns. A key without items is absent. */
  readonly #queues = new Map<string, T[]>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Keys with items, in order of turns. */
  get keys(): string[] {
    return [...this.#queues.keys()];
  }

  sizeOf(key: string): number {
    return this.#queues.get(key)?.length ?? 0;
  }

  push(key: string, item: T): void {
    const items = this.#queues.get(key);
    if (items === undefined) this.#queues.set(key, [item]);
    else items.push(item);
    this.#size += 1;
  }

  /** For an item that had its turn and is retried at once. */
  pushFirst(key: string, item: T): void {
    const items = this.#queues.get(key);
    if (items === undefined) this.#queues.set(key, [item]);
    else items.unshift(item);
    this.#size += 1;
  }

  next(): T | undefined {
    for (const [key, items] of this.#queues) {
      const item = items.shift()!;
      this.#queues.delete(key);
      if (items.length > 0) this.#queues.set(key, items);
      this.#size -= 1;
      return item;
    }
    return undefined;
  }

  /** Removes from the head of each key's queue while the predicate holds. */
  removeWhile(holds: (item: T) => boolean): T[] {
    const removed: T[] = [];
    for (const [key, items] of this.#queues) {
      const at = items.findIndex((item) => !holds(item));
      append(removed, items.splice(0, at < 0 ? items.length : at));
      if (items.length === 0) this.#queues.delete(key);
    }
    this.#size -= removed.length;
    return removed;
  }

  /** Removes and returns all items of one key. */
  drainOf(key: string): T[] {
    const items = this.#queues.get(key) ?? [];
    this.#queues.delete(key);
    this.#size -= items.length;
    return items;
  }

  /** Removes one item, which may not be there any more. */
  remove(key: string, item: T): void {
    const items = this.#queues.get(key);
    const at = items?.indexOf(item) ?? -1;
    if (at < 0) return;
    items!.splice(at, 1);
    if (items!.length === 0) this.#queues.delete(key);
    this.#size -= 1;
  }

  /** Removes and returns all items. */
  drain(): T[] {
    const all = [...this.#queues.values()].flat();
    this.#queues.clear();
    this.#size = 0;
    return all;
  }
}
