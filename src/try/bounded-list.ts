/** The newest items, at most this many and at most this many bytes together. The oldest go first. */
export class BoundedList<T extends { id: number }> {
  readonly #items: { item: T; bytes: number }[] = [];
  readonly #maxItems: number;
  readonly #maxBytes: number;
  #bytes = 0;
  #lastId = 0;

  constructor(maxItems: number, maxBytes: number) {
    this.#maxItems = maxItems;
    this.#maxBytes = maxBytes;
  }

  add(item: Omit<T, 'id'>, bytes: number): T {
    const added = { ...item, id: ++this.#lastId } as T;
    this.#items.push({ item: added, bytes });
    this.#bytes += bytes;
    while (this.#items.length > this.#maxItems || (this.#bytes > this.#maxBytes && this.#items.length > 1))
      this.#bytes -= this.#items.shift()!.bytes;
    return added;
  }

  get bytes(): number {
    return this.#bytes;
  }

  find(id: number): T | undefined {
    return this.#items.find(({ item }) => item.id === id)?.item;
  }

  newestFirst(): T[] {
    return this.#items.map(({ item }) => item).reverse();
  }
}
