/** A priority queue by time: a binary heap. */
export class TimeQueue<T extends { readonly at: number }> {
  private readonly heap: T[] = [];

  get size(): number {
    return this.heap.length;
  }

  first(): T | undefined {
    return this.heap[0];
  }

  push(item: T): void {
    const { heap } = this;
    let at = heap.push(item) - 1;
    while (at > 0) {
      const above = (at - 1) >> 1;
      if (heap[above]!.at <= item.at) break;
      heap[at] = heap[above]!;
      at = above;
    }
    heap[at] = item;
  }

  shift(): T | undefined {
    const { heap } = this;
    const first = heap[0];
    const last = heap.pop();
    if (heap.length === 0 || last === undefined) return first;
    let at = 0;
    for (;;) {
      let below = 2 * at + 1;
      if (below >= heap.length) break;
      if (below + 1 < heap.length && heap[below + 1]!.at < heap[below]!.at) below++;
      if (heap[below]!.at >= last.at) break;
      heap[at] = heap[below]!;
      at = below;
    }
    heap[at] = last;
    return first;
  }
}
