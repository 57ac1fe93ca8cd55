import { type Assignment, checksASecond } from '../../../protocols/agent.ts';
import { TimeQueue } from './queue.ts';

/** Checks of one host and port start at least so far apart. */
const minGapMs = 1_000 / checksASecond;

export const hostOf = (assignment: Assignment): string => {
  if (assignment.kind === 'tcp') return assignment.target.host.toLowerCase();
  return URL.canParse(assignment.target.url) ? new URL(assignment.target.url).hostname : '';
};

/** What the rate is counted by: two ports of one host are two services, and one of them does not take the other's turns. */
export const hostPortOf = (assignment: Assignment): string => {
  if (assignment.kind === 'tcp') return `${hostOf(assignment)}:${assignment.target.port}`;
  if (!URL.canParse(assignment.target.url)) return '';
  const { hostname, port, protocol } = new URL(assignment.target.url);
  return `${hostname}:${port || (protocol === 'http:' ? 80 : 443)}`;
};

interface HostQueue<W extends { readonly at: number }> {
  /** When the next check may start. */
  freeAt: number;
  /** Who waits for a turn, by tenant, in the order in which tenants get theirs; of one tenant, whoever must give up first comes first. */
  readonly tenants: Map<string, TimeQueue<W>>;
}

/**
 * The turns of each host and port. Nobody books one ahead: whoever is due waits, and the tenants waiter wait get a turn each, one after the
 * other, so that one with thousands of monitors of a host does not keep another's few from being checked. `at` is when one gives up.
 */
export class HostRate<W extends { readonly at: number }> {
  private readonly hosts = new Map<string, HostQueue<W>>();
  private sweepAt = 1024;

  /** True: it starts now. False: another one has just started, or others wait. */
  tryStart(name: string, now: number): boolean {
    const host = this.hosts.get(name);
    if (host && (host.freeAt > now || host.tenants.size > 0)) return false;
    this.start(name, now);
    return true;
  }

  /** Notes that a check of this host starts now. */
  start(name: string, now: number): void {
    const host = this.hosts.get(name);
    if (host) host.freeAt = now + minGapMs;
    else this.hosts.set(name, { freeAt: now + minGapMs, tenants: new Map() });
    if (this.hosts.size > this.sweepAt) this.sweep(now);
  }

  /** Waits, after `take` said no. True: it is the first to wait there, so somebody must call `next` from `freeAt` on. */
  enqueue(name: string, tenant: string, waiter: W): boolean {
    const { tenants } = this.hosts.get(name)!;
    const isFirst = tenants.size === 0;
    const queue = tenants.get(tenant) ?? new TimeQueue<W>();
    queue.push(waiter);
    tenants.set(tenant, queue);
    return isFirst;
  }

  /** Whose turn it is; its tenant is the last to get another one. */
  dequeue(name: string): W | undefined {
    const tenants = this.hosts.get(name)?.tenants;
    const [first] = tenants ?? [];
    if (!tenants || !first) return undefined;
    const [tenant, queue] = first;
    const waiter = queue.shift();
    tenants.delete(tenant);
    if (queue.size > 0) tenants.set(tenant, queue);
    return waiter;
  }

  /** When the next turn is; undefined: nobody waits for it. */
  nextAt(name: string): number | undefined {
    const host = this.hosts.get(name);
    return host && host.tenants.size > 0 ? host.freeAt : undefined;
  }

  private sweep(now: number) {
    for (const [name, { freeAt, tenants }] of this.hosts) if (freeAt <= now && tenants.size === 0) this.hosts.delete(name);
    this.sweepAt = Math.max(1024, this.hosts.size * 2);
  }
}
