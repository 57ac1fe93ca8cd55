/** Bounds the number of entries of an LRUCache. Its own `max` allocates for all entries at once, which adds 0.2 s to each start. */
export const boundedTo = (entries: number) => ({ maxSize: entries, sizeCalculation: () => 1 });
