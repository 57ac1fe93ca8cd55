const maxLength = 100;

/** The word that differs least from what was typed, if by at most a third of its letters; undefined where none is near. */
export function nearest(typed: string, words: string[]): string | undefined {
  if (typed.length > maxLength) return undefined;
  const near = words
    .filter((word) => Math.abs(word.length - typed.length) <= allowed(typed))
    .map((word) => ({ word, far: distance(typed.toLowerCase(), word.toLowerCase()) }))
    .filter(({ far }) => far <= allowed(typed));
  return near.toSorted((a, b) => a.far - b.far)[0]?.word;
}

const allowed = (typed: string) => Math.min(3, Math.floor(typed.length / 3));

/** Letters that are put in, left out, changed or swapped with their neighbour (optimal string alignment). */
function distance(a: string, b: string): number {
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = row[j - 1]! + Number(a[i - 1] !== b[j - 1]);
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, change, isSwap ? before[j - 2]! + 1 : change));
    }
    [before, row] = [row, next];
  }
  return row[b.length]!;
}
