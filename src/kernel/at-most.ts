/** So many entries in an LRUCache. Its own `max` makes room for all of them at once: a second and 50 MiB for the caches of a server. */
export const atMost = (entries: number) => ({ maxSize: entries, sizeCalculation: () => 1 });
