// How often one person is paged: enough to be woken, not so often that the pages bury each other or another organization's wait behind them.

/** Pages about one incident that a person gets in a minute: as many as they can have rules, so that no step alone is cut. */
export const maxPerMinuteOfIncident = 10;
/** Pages that a person gets in a minute about all incidents of an organization. */
export const maxPerMinuteOfPerson = 30;
/** What “in a minute” means: no two of those counted are this far apart. */
export const minuteMs = 60_000;

/** Pages of one person that are due less than a minute before or after one that is wanted. */
export interface NearbyCounts {
  /** About the same incident. */
  ofIncident: number;
  /** About whatever incident of the organization. */
  ofPerson: number;
}

export type HeldReason = 'incident' | 'person';

export const heldReasons: Record<HeldReason, string> = {
  incident: `nobody gets more than ${maxPerMinuteOfIncident} pages a minute about one incident`,
  person: `nobody gets more than ${maxPerMinuteOfPerson} pages a minute`,
};

/**
 * Which of the wanted pages are made, and why the others are held back. `near` counts what was made before, for each wanted one.
 * The earliest is made in any case when the person has none about this incident: a limit never makes silence.
 */
export function limitPages<W extends { delaySeconds: number }>(
  wanted: readonly W[],
  near: readonly NearbyCounts[],
  isFirst: boolean,
): { made: W[]; held: Map<HeldReason, number> } {
  const earliest = isFirst ? Math.min(...wanted.map((w) => w.delaySeconds)) : undefined;
  let first = wanted.find((w) => w.delaySeconds === earliest);
  const made: W[] = [];
  const held = new Map<HeldReason, number>();
  for (const [i, page] of wanted.entries()) {
    const beside = made.filter((m) => Math.abs(m.delaySeconds - page.delaySeconds) * 1000 < minuteMs).length;
    const because: HeldReason | undefined =
      near[i]!.ofIncident + beside >= maxPerMinuteOfIncident
        ? 'incident'
        : near[i]!.ofPerson + beside >= maxPerMinuteOfPerson
          ? 'person'
          : undefined;
    if (because && page !== first) held.set(because, (held.get(because) ?? 0) + 1);
    else made.push(page);
    if (page === first) first = undefined;
  }
  return { made, held };
}
