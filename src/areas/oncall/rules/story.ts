/** Entries of a story at most, and of the hour before it. */
export const storyLimits = { entries: 1_000, before: 200 };

interface Timed {
  at: string;
}

const oldestFirst = (a: Timed, b: Timed): number => Date.parse(a.at) - Date.parse(b.at);

/** The parts of a story on one time axis. Of too many entries the first and the last stay: how it began and how it ended. */
export function onOneAxis<Entry extends Timed>(entries: readonly Entry[]): { entries: Entry[]; isCut: boolean } {
  const all = entries.toSorted(oldestFirst);
  if (all.length <= storyLimits.entries) return { entries: all, isCut: false };
  const half = storyLimits.entries / 2;
  return { entries: [...all.slice(0, half), ...all.slice(-half)], isCut: true };
}

/** What changed before it: of too much, the newest. */
export function newestBefore<Entry extends Timed>(entries: readonly Entry[]): { before: Entry[]; isCut: boolean } {
  const all = entries.toSorted(oldestFirst);
  return { before: all.slice(-storyLimits.before), isCut: all.length > storyLimits.before };
}
