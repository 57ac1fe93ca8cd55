import type { IncomingMessage } from 'node:http';
import type { Writable } from 'node:stream';
import type { HoldRequest } from '../../../../drivers/driver.ts';
import { guarded } from '../../../../kernel/faults/guarded.ts';
import { hasBody } from '../../../../kernel/http/discard.ts';

// Requests that no control plane can take at the moment: their cluster is being taken over, or its apiservers are away. They wait for some seconds
// instead of being refused. Of a held request only the head is read; its body stays with the client, by backpressure.

export interface HoldingLimits {
  /** Together, over all waits of one request. */
  waitMs: number;
  /** Of all held requests of this process. Beyond it the organization with the most loses its oldest one. */
  bytes: number;
  perCluster: number;
}

const defaults: HoldingLimits = { waitMs: 8_000, bytes: 64 * 2 ** 20, perCluster: 1_000 };

/** What a held request costs: its connection and objects; with a body, what the kernel and the parser have read of it already. */
const weight = { requestBytes: 12_288, bodyBytes: 65_536 };

/** How often it is looked whether requests can go on, and how many of a cluster do at once: all together would be the next overload. */
const pollMs = 20;
const releasedPerPoll = 64;

export interface HoldingRoom {
  /** For one cluster: see HoldRequest. */
  of(cluster: string, org: string): HoldRequest;
  /** Requests that wait. */
  size(): number;
}

interface HeldRequest {
  cluster: string;
  org: string;
  bytes: number;
  /** By the monotonic clock. */
  until: number;
  isOpen: () => boolean;
  end(isOpen: boolean): void;
}

export const makeHoldingRoom = (limits: HoldingLimits = defaults): HoldingRoom => new Room(limits);

interface Tenant {
  bytes: number;
  /** Oldest first. */
  requests: Set<HeldRequest>;
}

class Room implements HoldingRoom {
  readonly #limits: HoldingLimits;
  readonly #tenants = new Map<string, Tenant>();
  readonly #countOf = new Map<string, number>();
  /** The end of the first wait of a request counts for the following ones. */
  readonly #deadlines = new WeakMap<Writable, number>();
  #bytes = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(limits: HoldingLimits) {
    this.#limits = limits;
  }

  of(cluster: string, org: string): HoldRequest {
    return (request, caller, isOpen) => this.#hold(cluster, org, request, caller, isOpen);
  }

  size(): number {
    return [...this.#countOf.values()].reduce((sum, count) => sum + count, 0);
  }

  #hold(cluster: string, org: string, request: IncomingMessage, caller: Writable, isOpen: () => boolean): Promise<boolean> {
    const now = performance.now();
    const until = this.#deadlines.get(caller) ?? now + this.#limits.waitMs;
    const bytes = weightOf(request);
    const isFull = now >= until || (this.#countOf.get(cluster) ?? 0) >= this.#limits.perCluster;
    if (caller.destroyed || isFull || !this.#makeRoom(org, bytes)) return Promise.resolve(false);
    this.#deadlines.set(caller, until);
    return new Promise((resolve) => {
      const leave = guarded('clusters.front.held', caller, () => this.#end(held, false));
      const held: HeldRequest = {
        cluster,
        org,
        bytes,
        until,
        isOpen,
        end(isNowOpen) {
          caller.off('close', leave);
          resolve(isNowOpen);
        },
      };
      caller.once('close', leave);
      this.#add(held);
    });
  }

  /** False: the newcomer's own organization has the most. */
  #makeRoom(org: string, bytes: number): boolean {
    while (this.#bytes + bytes > this.#limits.bytes) {
      let largest: Tenant | undefined;
      let most = (this.#tenants.get(org)?.bytes ?? 0) + bytes;
      for (const [name, tenant] of this.#tenants)
        if (name !== org && tenant.bytes > most) {
          largest = tenant;
          most = tenant.bytes;
        }
      const [oldest] = largest?.requests ?? [];
      if (!oldest) return false;
      this.#end(oldest, false);
    }
    return true;
  }

  #add(held: HeldRequest): void {
    const tenant = this.#tenants.get(held.org) ?? { bytes: 0, requests: new Set() };
    this.#tenants.set(held.org, tenant);
    tenant.bytes += held.bytes;
    tenant.requests.add(held);
    this.#bytes += held.bytes;
    this.#countOf.set(held.cluster, (this.#countOf.get(held.cluster) ?? 0) + 1);
    this.#timer ??= setInterval(() => this.#poll(), pollMs);
  }

  #end(held: HeldRequest, isOpen: boolean): void {
    const tenant = this.#tenants.get(held.org);
    if (!tenant?.requests.delete(held)) return;
    tenant.bytes -= held.bytes;
    if (tenant.requests.size === 0) this.#tenants.delete(held.org);
    this.#bytes -= held.bytes;
    const left = this.#countOf.get(held.cluster)! - 1;
    if (left > 0) this.#countOf.set(held.cluster, left);
    else this.#countOf.delete(held.cluster);
    if (this.#tenants.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
    held.end(isOpen);
  }

  #poll(): void {
    const now = performance.now();
    const released = new Map<string, number>();
    for (const { requests } of this.#tenants.values())
      for (const held of requests) {
        const count = released.get(held.cluster) ?? 0;
        if (count < releasedPerPoll && held.isOpen()) {
          released.set(held.cluster, count + 1);
          this.#end(held, true);
        } else if (now >= held.until) this.#end(held, held.isOpen());
      }
  }
}

function weightOf(request: IncomingMessage): number {
  const { rawHeaders, url = '' } = request;
  const head = rawHeaders.reduce((sum, text) => sum + text.length, url.length);
  return weight.requestBytes + head + (hasBody(request) ? weight.bodyBytes : 0);
}
