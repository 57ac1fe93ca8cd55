/** The start of a history page: incidents opened then or before, minus `incidents` of them and `updates` of the next one. */
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

/** As part of a URL. It contains a time and no id, because our ids are not public. */
export const formatCursor = ({ openedAt, incidents, updates }: HistoryCursor): string => `${Date.parse(openedAt)}-${incidents}-${updates}`;

export const cursorAt = (openedAt: string): string => formatCursor({ openedAt, incidents: 0, updates: 0 });

/** Undefined: not a cursor of ours. */
export function parseCursor(text: string): HistoryCursor | undefined {
  const [, ms, incidents, updates] = /^(\d{1,14})-(\d{1,4})-(\d{1,3})$/.exec(text) ?? [];
  return ms === undefined
    ? undefined
    : { openedAt: new Date(Number(ms)).toISOString(), incidents: Number(incidents), updates: Number(updates) };
}

/** The cursor after a page that started at `from` and showed these incidents. */
export function nextCursor(from: HistoryCursor, shown: readonly ShownIncident[]): HistoryCursor {
  const last = shown.at(-1)!;
  const isFirst = shown.length === 1;
  const seen = last.updates.length + (isFirst ? from.updates : 0);
  // Several incidents may have opened in one millisecond: those before the last one are skipped, and the last one too once all its updates
  // are shown.
  const before =
    shown.slice(0, -1).filter((i) => i.openedAt === last.openedAt).length + (last.openedAt === from.openedAt ? from.incidents : 0);
  const isWhole = seen >= last.updateCount;
  return { openedAt: last.openedAt, incidents: before + (isWhole ? 1 : 0), updates: isWhole ? 0 : seen };
}
