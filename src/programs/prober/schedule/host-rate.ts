import type { Assignment } from '../../../protocols/agent.ts';

/** Nobody floods a host through us, however many monitors name it: checks of one host start at least so far apart. */
const apartMs = 100;

export const hostOf = (assignment: Assignment): string => {
  if (assignment.kind === 'tcp') return assignment.target.host.toLowerCase();
  return URL.canParse(assignment.target.url) ? new URL(assignment.target.url).hostname : '';
};

export class HostRate {
  private readonly free = new Map<string, number>();
  private sweepAt = 1024;

  /** When the next check of this host may start, and then it must; null if that is past `latest`, which takes nobody's turn. */
  turn(host: string, now: number, latest: number): number | null {
    const at = Math.max(now, this.free.get(host) ?? now);
    if (at > latest) return null;
    this.free.set(host, at + apartMs);
    if (this.free.size > this.sweepAt) this.sweep(now);
    return at;
  }

  private sweep(now: number) {
    for (const [host, free] of this.free) if (free <= now) this.free.delete(host);
    this.sweepAt = Math.max(1024, this.free.size * 2);
  }
}
