/** Work on clusters that is under way. */
export interface InFlight {
  total: number;
  byOrg: Map<string, number>;
}

export function addInFlight(busy: InFlight, org: string): void {
  busy.total++;
  busy.byOrg.set(org, (busy.byOrg.get(org) ?? 0) + 1);
}

/** How many clusters are being changed now, in total and per organization. */
export function countInFlight(held: Iterable<{ work: Promise<void> | undefined; org: string }>): InFlight {
  const busy: InFlight = { total: 0, byOrg: new Map() };
  for (const { work, org } of held) if (work) addInFlight(busy, org);
  return busy;
}
