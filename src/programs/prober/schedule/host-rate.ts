import { type Assignment, checksASecond } from '../../../protocols/agent.ts';
import { TimeQueue } from './queue.ts';

/** Minimum time between the starts of two checks of one host and port. */
const minGapMs = 1_000 / checksASecond;

export const hostOf = (assignment: Assignment): string => {
  if (assignment.kind === 'tcp') return assignment.target.host.toLowerCase();
  return URL.canParse(assignment.target.url) ? new URL(assignment.target.url).hostname : '';
};

/** The key of the rate limit: two ports of one host are two services with separate limits. */
export const hostPortOf = (assignment: Assignment): string => {
  if (assignment.kind === 'tcp') return `${hostOf(assignment)}:${assignment.target.port}`;
  if (!URL.canParse(assignment.target.url)) return '';
  const { hostname, port, protocol } = new URL(assignment.target.url);
  return `${hostname}:${port || (protocol === 'http:' ? 80 : 443)}`;
};

interface HostQueue<W extends { readonly at: number }> {
  /** When the next check may start. */
  freeAt: number;
  /**
   * Queued checks by tenant, in the order in which tenants are served. Within a tenant, the check with the earliest deadline comes first.
   */
  readonly tenants: Map<string, TimeQueue<W>>;
}

/**
 * Limits the rate of checks per host and port. No check reserves a slot ahead: a due check queues, and the waiting tenants are served round
 * robin. So a tenant with thousands of monitors of a host does not starve another's few. `at` is the deadline of a check.
 */
export class HostRate<W extends { readonly at: number }> {
  private readonly hosts = new Map<string, HostQueue<W>>();
  private sweepAt = 1024;

  /** True: the check may start now. False: another has just started, or others are queued. */
  tryStart(name: string, now: number): boolean {
    const host = this.hosts.get(name);
    if (host && (host.freeAt > now || host.tenants.size > 0)) return false;
    this.start(name, now);
    return true;
  }

  /** Notes that a check of this host and port starts now. */
  start(name: string, now: number): void {
    const host = this.hosts.get(name);
    if (host) host.freeAt = now + minGapMs;
    else this.hosts.set(name, { freeAt: now + minGapMs, tenants: new Map() });
    if (this.hosts.size > this.sweepAt) this.sweep(now);
  }

  /**
   * Queues a check after `tryStart` refused it. True: it is the first in the queue, so the caller must schedule `dequeue` from `freeAt` on.
   */
  enqueue(name: string, tenant: string, waiter: W): boolean {
    const { tenants } = this.hosts.get(name)!;
    const isFirst = tenants.size === 0;
    const queue = tenants.get(tenant) ?? new TimeQueue<W>();
    queue.push(waiter);
    tenants.set(tenant, queue);
    return isFirst;
  }

  /** The next check; its tenant goes to the end of the round. */
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

  /** When the next queued check may start; undefined: the queue is empty. */
  nextAt(name: string): number | undefined {
    const host = this.hosts.get(name);
    return host && host.tenants.size > 0 ? host.freeAt : undefined;
  }

  private sweep(now: number) {
    for (const [name, { freeAt, tenants }] of this.hosts) if (freeAt <= now && tenants.size === 0) this.hosts.delete(name);
    this.sweepAt = Math.max(1024, this.hosts.size * 2);
  }
}
