/** A queue in which organizations take turns: whoever has much waiting waits behind themselves. */
export class Turns<T> {
  /** In the order of turns. An organization without anything waiting is absent. */
  readonly #lines = new Map<string, T[]>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Those that have something waiting, in the order of their turns. */
  get orgs(): string[] {
    return [...this.#lines.keys()];
  }

  sizeOf(org: string): number {
    return this.#lines.get(org)?.length ?? 0;
  }

  push(org: string, item: T): void {
    const line = this.#lines.get(org);
    if (line === undefined) this.#lines.set(org, [item]);
    else line.push(item);
    this.#size += 1;
  }

  /** For what had its turn and needs another one at once. */
  pushFirst(org: string, item: T): void {
    const line = this.#lines.get(org);
    if (line === undefined) this.#lines.set(org, [item]);
    else line.unshift(item);
    this.#size += 1;
  }

  next(): T | undefined {
    for (const [org, line] of this.#lines) {
      const item = line.shift()!;
      this.#lines.delete(org);
      if (line.length > 0) this.#lines.set(org, line);
      this.#size -= 1;
      return item;
    }
    return undefined;
  }

  /** Of each organization those at the head of its line for whom this holds. */
  removeWhile(holds: (item: T) => boolean): T[] {
    const removed: T[] = [];
    for (const [org, line] of this.#lines) {
      const at = line.findIndex((item) => !holds(item));
      removed.push(...line.splice(0, at < 0 ? line.length : at));
      if (line.length === 0) this.#lines.delete(org);
    }
    this.#size -= removed.length;
    return removed;
  }

  /** Everything of one organization. */
  drainOf(org: string): T[] {
    const line = this.#lines.get(org) ?? [];
    this.#lines.delete(org);
    this.#size -= line.length;
    return line;
  }

  /** Everything, and nothing is left. */
  drain(): T[] {
    const all = [...this.#lines.values()].flat();
    this.#lines.clear();
    this.#size = 0;
    return all;
  }
}
