// How often one person is paged: often enough to wake up, but without burying pages or delaying those of another organization.

/** Pages to a person about one incident in a minute. It equals the maximum number of rules, so a single step is never cut. */
export const maxPerMinuteOfIncident = 10;
/** Pages to a person in a minute about all incidents of an organization. */
export const maxPerMinuteOfPerson = 30;
/** Pages less than this apart count as within a minute. */
export const minuteMs = 60_000;

/** A person's pages that are due less than a minute before or after a wanted page. */
export interface NearbyCounts {
  /** About the same incident. */
  ofIncident: number;
  /** About any incident of the organization. */
  ofPerson: number;
}

export type HeldReason = 'incident' | 'person';

export const heldReasons: Record<HeldReason, string> = {
  incident: `nobody gets more than ${maxPerMinuteOfIncident} pages a minute about one incident`,
  person: `nobody gets more than ${maxPerMinuteOfPerson} pages a minute`,
};

/**
 * Splits the wanted pages into made and held back. `near` counts earlier pages around each wanted one. The earliest page about an incident
 * is always made, so that a limit never causes silence.
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
