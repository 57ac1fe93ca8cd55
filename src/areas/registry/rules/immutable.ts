/** Whether a tag must not move or go. A pattern's `*` stands for any run of characters; with a colon it names repositories too:
 *  `v*`, `release-*`, `team/app:v*`. */
export const isImmutable = (patterns: readonly string[], repository: string, tag: string): boolean =>
  patterns.some((pattern) => {
    const colon = pattern.indexOf(':');
    return colon < 0 ? matches(pattern, tag) : matches(pattern.slice(0, colon), repository) && matches(pattern.slice(colon + 1), tag);
  });

/** Linear in both lengths: what customers write never becomes a regular expression. */
export function matches(pattern: string, text: string): boolean {
  const pieces = pattern.split('*');
  const first = pieces.shift()!;
  if (pieces.length === 0) return text === pattern;
  const last = pieces.pop()!;
  if (!text.startsWith(first) || !text.endsWith(last) || text.length < first.length + last.length) return false;
  let at = first.length;
  for (const piece of pieces) {
    const found = text.indexOf(piece, at);
    if (found < 0 || found + piece.length > text.length - last.length) return false;
    at = found + piece.length;
  }
  return true;
}
