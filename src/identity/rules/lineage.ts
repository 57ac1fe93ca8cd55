/** The lineage of a new credential: its minters, the caller's token last, and when the first of them expires. */
export interface Lineage {
  minters: string[];
  endsAt: string;
  secondsLeft: number;
}
