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

export function makeHoldingRoom({ waitMs, bytes: maxBytes, perCluster }: HoldingLimits = defaults): HoldingRoom {
  /** By organization, oldest first. */
  const byOrg = new Map<string, { bytes: number; requests: Set<HeldRequest> }>();
  const countOf = new Map<string, number>();
  /** The end of the first wait of a request counts for the following ones. */
  const deadlines = new WeakMap<Writable, number>();
  let allBytes = 0;
  let timer: NodeJS.Timeout | undefined;

  const add = (held: HeldRequest) => {
    const tenant = byOrg.get(held.org) ?? { bytes: 0, requests: new Set() };
    byOrg.set(held.org, tenant);
    tenant.bytes += held.bytes;
    tenant.requests.add(held);
    allBytes += held.bytes;
    countOf.set(held.cluster, (countOf.get(held.cluster) ?? 0) + 1);
    timer ??= setInterval(poll, pollMs).unref();
  };
  const remove = (held: HeldRequest): boolean => {
    const tenant = byOrg.get(held.org);
    if (!tenant?.requests.delete(held)) return false;
    tenant.bytes -= held.bytes;
    if (tenant.requests.size === 0) byOrg.delete(held.org);
    allBytes -= held.bytes;
    const left = countOf.get(held.cluster)! - 1;
    if (left > 0) countOf.set(held.cluster, left);
    else countOf.delete(held.cluster);
    if (byOrg.size === 0) {
      clearInterval(timer);
      timer = undefined;
    }
    return true;
  };
  const end = (held: HeldRequest, isOpen: boolean) => {
    if (remove(held)) held.end(isOpen);
  };
  const poll = () => {
    const now = performance.now();
    const released = new Map<string, number>();
    for (const { requests } of byOrg.values())
      for (const held of requests) {
        const count = released.get(held.cluster) ?? 0;
        if (count < releasedPerPoll && held.isOpen()) {
          released.set(held.cluster, count + 1);
          end(held, true);
        } else if (now >= held.until) end(held, held.isOpen());
      }
  };
  /** False: the newcomer's own organization has the most. */
  const makeRoom = (org: string, bytes: number): boolean => {
    while (allBytes + bytes > maxBytes) {
      let largest: string | undefined;
      let most = (byOrg.get(org)?.bytes ?? 0) + bytes;
      for (const [name, tenant] of byOrg)
        if (name !== org && tenant.bytes > most) {
          largest = name;
          most = tenant.bytes;
        }
      const [oldest] = largest === undefined ? [] : byOrg.get(largest)!.requests;
      if (!oldest) return false;
      end(oldest, false);
    }
    return true;
  };

  return {
    of: (cluster, org) => (request, caller, isOpen) => {
      const until = deadlines.get(caller) ?? performance.now() + waitMs;
      const bytes = weightOf(request);
      const isFull = performance.now() >= until || (countOf.get(cluster) ?? 0) >= perCluster;
      if (caller.destroyed || isFull || !makeRoom(org, bytes)) return Promise.resolve(false);
      deadlines.set(caller, until);
      return new Promise((resolve) => {
        const leave = guarded('clusters.front.held', caller, () => end(held, false));
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
        add(held);
      });
    },
    size: () => [...countOf.values()].reduce((sum, count) => sum + count, 0),
  };
}

function weightOf(request: IncomingMessage): number {
  const { rawHeaders, url = '' } = request;
  const head = rawHeaders.reduce((sum, text) => sum + text.length, url.length);
  return weight.requestBytes + head + (hasBody(request) ? weight.bodyBytes : 0);
}
