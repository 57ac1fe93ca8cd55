import { LRUCache } from 'lru-cache';
import { boundedTo } from '../../../../kernel/bounded-map.ts';
import type { Logger } from '../../../../kernel/log.ts';
import { UpstreamUnavailable } from '../../rules/errors.ts';
import type { Target } from './client.ts';

/** Upstreams that failed a moment ago and are not asked again yet. Kept in this process only. */
export interface UpstreamCooldown {
  /**
   * Runs a request to an upstream. While the upstream is in its cooldown (it failed or rate-limited us), the earlier error is thrown
   * instead. An error that affects one item puts only that item into cooldown.
   */
  run<T>(target: Target, item: string, act: () => Promise<T>): Promise<T>;
  /** Logs at most one line a minute for an upstream, however many clients are affected. */
  logOnce(target: Target, error: UpstreamUnavailable): void;
}

export interface CooldownParts {
  log: Logger;
  /** Changes with the login: an upstream that rate-limits one login may answer another. */
  loginFingerprint(target: Target): Promise<string>;
  count(host: string, result: 'asked' | 'away'): void;
}

const logIntervalMs = 60_000;

export function makeUpstreamCooldown({ log, loginFingerprint, count }: CooldownParts): UpstreamCooldown {
  const coolingDown = new LRUCache<string, { until: number; error: UpstreamUnavailable }>(boundedTo(10_000));
  const logged = new LRUCache<string, true>({ max: 1_000, ttl: logIntervalMs });

  return {
    run: async (target, item, act) => {
      const wholeUpstream = `${target.registryId} ${target.host} ${await loginFingerprint(target)}`;
      const oneItem = `${wholeUpstream} ${target.path} ${item}`;
      for (const key of [wholeUpstream, oneItem]) {
        const entry = coolingDown.get(key);
        if (entry && performance.now() < entry.until) throw entry.error;
      }
      count(target.host, 'asked');
      try {
        const answer = await act();
        coolingDown.delete(wholeUpstream);
        coolingDown.delete(oneItem);
        return answer;
      } catch (error) {
        if (error instanceof UpstreamUnavailable) {
          count(target.host, 'away');
          coolingDown.set(error.affectsOneItem ? oneItem : wholeUpstream, {
            until: performance.now() + error.retryAfterSeconds * 1000,
            error,
          });
        }
        throw error;
      }
    },
    logOnce: ({ host }, { message, retryAfterSeconds }) => {
      if (logged.has(host)) return;
      logged.set(host, true);
      log.warn(
        { upstream: host, error: message, retrySeconds: retryAfterSeconds },
        'an upstream cannot be asked; cached images are served as they are',
      );
    },
  };
}
