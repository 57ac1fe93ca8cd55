/** The richest rendering of a whole list that fits: each tier renders every item in one way, the last one is taken whatever its size. */
export function richestThatFits<T>(items: readonly T[], tiers: readonly ((item: T) => string)[], maxBytes: number): string {
  let made = '';
  for (const tier of tiers) {
    made = items.map(tier).join('');
    if (Buffer.byteLength(made) <= maxBytes) break;
  }
  return made;
}

/** In their order: whole while there is room, short from the first one on that has none, and not at all when not even that fits. */
export function takeFitting<T>(items: readonly T[], whole: (item: T) => string, short: (item: T) => string, maxBytes: number) {
  const made: string[] = [];
  let left = maxBytes;
  let full = true;
  for (const item of items) {
    let text = full ? whole(item) : short(item);
    if (full && Buffer.byteLength(text) > left) {
      full = false;
      text = short(item);
    }
    if (Buffer.byteLength(text) > left) break;
    left -= Buffer.byteLength(text);
    made.push(text);
  }
  return { text: made.join(''), shown: made.length };
}
