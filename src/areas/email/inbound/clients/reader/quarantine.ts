const maxQuarantined = 10_000;

/** Organizations in quarantine. Their messages are read one at a time in turn, after messages that only shared a terminated thread. */
export class Quarantine {
  readonly #durationMs: number;
  readonly #byOrg = new Map<string, { until: number; turn: number }>();
  #turns = 0;

  constructor(durationMs: number) {
    this.#durationMs = durationMs;
  }

  get hasEntries(): boolean {
    return this.#byOrg.size > 0;
  }

  has(org: string): boolean {
    return (this.#byOrg.get(org)?.until ?? 0) > performance.now();
  }

  turnOf(org: string): number {
    return this.has(org) ? this.#byOrg.get(org)!.turn : 0;
  }

  noteTurn(org: string): void {
    if (this.has(org)) this.#byOrg.get(org)!.turn = ++this.#turns;
  }

  add(org: string): void {
    if (this.#byOrg.size >= maxQuarantined) this.#byOrg.clear();
    this.#byOrg.set(org, { until: performance.now() + this.#durationMs, turn: ++this.#turns });
  }
}
