import { type Assignment, checksASecond } from '../../../protocols/agent.ts';

/** Checks of one host and port start at least so far apart. */
const apartMs = 1_000 / checksASecond;

export const hostOf = (assignment: Assignment): string => {
  if (assignment.kind === 'tcp') return assignment.target.host.toLowerCase();
  return URL.canParse(assignment.target.url) ? new URL(assignment.target.url).hostname : '';
};

/** What the rate is counted by: two ports of one host are two services, and one of them does not take the other's turns. */
export const placeOf = (assignment: Assignment): string => {
  if (assignment.kind === 'tcp') return `${hostOf(assignment)}:${assignment.target.port}`;
  if (!URL.canParse(assignment.target.url)) return '';
  const { hostname, port, protocol } = new URL(assignment.target.url);
  return `${hostname}:${port || (protocol === 'http:' ? 80 : 443)}`;
};

export class HostRate {
  private readonly free = new Map<string, number>();
  private sweepAt = 1024;

  /** When the next check of this place may start, and then it must; null if that is past `latest`, which takes nobody's turn. */
  turn(place: string, now: number, latest: number): number | null {
    const at = Math.max(now, this.free.get(place) ?? now);
    if (at > latest) return null;
    this.free.set(place, at + apartMs);
    if (this.free.size > this.sweepAt) this.sweep(now);
    return at;
  }

  private sweep(now: number) {
    for (const [place, free] of this.free) if (free <= now) this.free.delete(place);
    this.sweepAt = Math.max(1024, this.free.size * 2);
  }
}
