import type { Logger } from '../../../kernel/log.ts';
import type { UnreadAccount, UnreadLimiter } from '../../driver.ts';

// Bytes that are buffered for clients and not read yet: lines of watches, pages of lists. Each client has a limit of its own. This file
// limits all clients of a cluster, and of an organization, together: past the limit the connections with the most unread bytes are cut, and
// reconnect.

/** In bytes, per process. */
export const unreadLimits = { cluster: 67_108_864, organization: 134_217_728 };

/** Connections are cut until this ratio of the limit is left; otherwise each further line would cut one more. */
const targetRatio = 0.75;

/** For requests from inside the process, which read at once. */
export const uncounted: UnreadAccount = { add: () => {}, subtract: () => {}, close: () => {} };

interface Account {
  org: string;
  cluster: string;
  bytes: number;
  cut: () => void;
}

export function makeUnreadLimiter(log: Logger): UnreadLimiter {
  const accounts = new Set<Account>();
  const sums = new Map<string, number>();
  let totalBytes = 0;
  const sumOf = (key: string) => sums.get(key) ?? 0;
  const change = (account: Account, bytes: number) => {
    account.bytes += bytes;
    totalBytes += bytes;
    for (const key of [account.org, account.cluster]) {
      const sum = sumOf(key) + bytes;
      if (sum > 0) sums.set(key, sum);
      else sums.delete(key);
    }
  };
  const closeAccount = (account: Account) => {
    if (accounts.delete(account)) change(account, -account.bytes);
  };
  const enforceLimit = (of: 'org' | 'cluster', key: string, limit: number) => {
    if (sumOf(key) <= limit) return;
    const largestFirst = [...accounts].filter((account) => account[of] === key && account.bytes > 0).sort((a, b) => b.bytes - a.bytes);
    let cut = 0;
    for (const account of largestFirst) {
      if (sumOf(key) <= limit * targetRatio) break;
      closeAccount(account);
      cut++;
      account.cut();
    }
    log.warn({ [of]: key, cut, bytes: limit }, 'clients of clusters were cut: together they exceeded the limit of unread bytes');
  };

  return {
    bytes: () => totalBytes,
    open({ org, cluster }, cut) {
      const account: Account = { org, cluster, bytes: 0, cut };
      accounts.add(account);
      return {
        add(bytes) {
          if (!accounts.has(account)) return;
          change(account, bytes);
          enforceLimit('cluster', cluster, unreadLimits.cluster);
          enforceLimit('org', org, unreadLimits.organization);
        },
        subtract(bytes) {
          if (accounts.has(account)) change(account, -bytes);
        },
        close: () => closeAccount(account),
      };
    },
  };
}
