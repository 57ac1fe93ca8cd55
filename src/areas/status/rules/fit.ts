/** The richest rendering of a list that fits. Each tier renders every item; the last tier is used whatever its size. */
export function richestThatFits<T>(items: readonly T[], tiers: readonly ((item: T) => string)[], maxBytes: number): string {
  let made = '';
  for (const tier of tiers) {
    made = items.map(tier).join('');
    if (Buffer.byteLength(made) <= maxBytes) break;
  }
  return made;
}

/** Renders items in order: full while they fit, then short, then not at all. */
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
