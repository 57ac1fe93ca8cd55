import type { Logger } from '../../../../kernel/log.ts';

// What was made for callers and is not read yet: lines of watches, pieces of lists. Each caller alone has a bound of its own; here is the one for
// all callers of a cluster, and of an organization, together. Past it, whoever lags furthest behind is cut, and comes again.

/** In bytes, in this process. */
export const unreadLimits = { cluster: 67_108_864, organization: 134_217_728 };

/** Cutting goes on until so much of the bound is used: else each line would cut one more. */
const enough = 0.75;

export interface Unread {
  /** A caller's share of its cluster and organization; `cut` ends its connection. */
  open(of: { org: string; cluster: string }, cut: () => void): UnreadBytes;
  bytes(): number;
}

export interface UnreadBytes {
  /** Counts bytes that are kept for it from now on. */
  add(bytes: number): void;
  /** It has read them. */
  take(bytes: number): void;
  end(): void;
}

/** For the house itself, which reads at once. */
export const readAtOnce: UnreadBytes = { add: () => {}, take: () => {}, end: () => {} };

interface Share {
  org: string;
  cluster: string;
  bytes: number;
  cut: () => void;
}

export function makeUnread(log: Logger): Unread {
  const shares = new Set<Share>();
  const sums = new Map<string, number>();
  let all = 0;
  const sumOf = (key: string) => sums.get(key) ?? 0;
  const change = (share: Share, bytes: number) => {
    share.bytes += bytes;
    all += bytes;
    for (const key of [share.org, share.cluster]) {
      const sum = sumOf(key) + bytes;
      if (sum > 0) sums.set(key, sum);
      else sums.delete(key);
    }
  };
  const end = (share: Share) => {
    if (shares.delete(share)) change(share, -share.bytes);
  };
  const keepBelow = (of: 'org' | 'cluster', key: string, most: number) => {
    if (sumOf(key) <= most) return;
    const behind = [...shares].filter((share) => share[of] === key && share.bytes > 0).sort((a, b) => b.bytes - a.bytes);
    let cut = 0;
    for (const share of behind) {
      if (sumOf(key) <= most * enough) break;
      end(share);
      cut++;
      share.cut();
    }
    log.warn({ [of]: key, cut, bytes: most }, 'callers of clusters were cut: together they left too much unread');
  };

  return {
    bytes: () => all,
    open({ org, cluster }, cut) {
      const share: Share = { org, cluster, bytes: 0, cut };
      shares.add(share);
      return {
        add(bytes) {
          if (!shares.has(share)) return;
          change(share, bytes);
          keepBelow('cluster', cluster, unreadLimits.cluster);
          keepBelow('org', org, unreadLimits.organization);
        },
        take(bytes) {
          if (shares.has(share)) change(share, -bytes);
        },
        end: () => end(share),
      };
    },
  };
}
