/** Where a piece of the history begins: at incidents opened then or before, past so many of them and so many updates of the next. */
export interface HistoryCursor {
  openedAt: string;
  incidents: number;
  updates: number;
}

interface ShownIncident {
  openedAt: string;
  updates: readonly unknown[];
  updateCount: number;
}

/** As it stands in an address. It names a time and not an incident: our ids never get to the public. */
export const formatCursor = ({ openedAt, incidents, updates }: HistoryCursor): string => `${Date.parse(openedAt)}-${incidents}-${updates}`;

export const cursorAt = (openedAt: string): string => formatCursor({ openedAt, incidents: 0, updates: 0 });

/** Undefined: no place of ours. */
export function parseCursor(text: string): HistoryCursor | undefined {
  const [, ms, incidents, updates] = /^(\d{1,14})-(\d{1,4})-(\d{1,3})$/.exec(text) ?? [];
  return ms === undefined
    ? undefined
    : { openedAt: new Date(Number(ms)).toISOString(), incidents: Number(incidents), updates: Number(updates) };
}

/** Where the next piece begins after one that began at `from` and told of these. */
export function nextCursor(from: HistoryCursor, shown: readonly ShownIncident[]): HistoryCursor {
  const last = shown.at(-1)!;
  const isFirst = shown.length === 1;
  const seen = last.updates.length + (isFirst ? from.updates : 0);
  // Several may have been opened in one millisecond: those before it are passed over, and it as well once it is told to its end.
  const before =
    shown.slice(0, -1).filter((i) => i.openedAt === last.openedAt).length + (last.openedAt === from.openedAt ? from.incidents : 0);
  const isWhole = seen >= last.updateCount;
  return { openedAt: last.openedAt, incidents: before + (isWhole ? 1 : 0), updates: isWhole ? 0 : seen };
}
