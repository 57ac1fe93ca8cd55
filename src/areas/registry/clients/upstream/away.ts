import { LRUCache } from 'lru-cache';
import { boundedTo } from '../../../../kernel/bounded-map.ts';
import type { Logger } from '../../../../kernel/log.ts';
import { UpstreamAway } from '../../rules/errors.ts';
import type { Target } from './client.ts';

/** What this process knows of upstreams that cannot be asked now. */
export interface Away {
  /** Asks an upstream for something, unless it failed or limited us a moment ago: then it is left alone for as long as it wanted. Where
   *  only this one thing was bad, it alone is left alone. */
  asking<T>(target: Target, what: string, act: () => Promise<T>): Promise<T>;
  /** One line in the log while it lasts, however many clients want something from it. */
  say(target: Target, away: UpstreamAway): void;
}

export interface AwayParts {
  log: Logger;
  /** Changes with the login: an upstream that limits one may well answer another. */
  whoAsks(target: Target): Promise<string>;
  count(host: string, result: 'asked' | 'away'): void;
}

const sayAgainMs = 60_000;

export function makeAway({ log, whoAsks, count }: AwayParts): Away {
  const resting = new LRUCache<string, { until: number; away: UpstreamAway }>(boundedTo(10_000));
  const said = new LRUCache<string, true>({ max: 1_000, ttl: sayAgainMs });

  return {
    asking: async (target, what, act) => {
      const everything = `${target.registryId} ${target.host} ${await whoAsks(target)}`;
      const alone = `${everything} ${target.path} ${what}`;
      for (const key of [everything, alone]) {
        const rest = resting.get(key);
        if (rest && performance.now() < rest.until) throw rest.away;
      }
      count(target.host, 'asked');
      try {
        const answer = await act();
        resting.delete(everything);
        resting.delete(alone);
        return answer;
      } catch (error) {
        if (error instanceof UpstreamAway) {
          count(target.host, 'away');
          resting.set(error.isAlone ? alone : everything, { until: performance.now() + error.retrySeconds * 1000, away: error });
        }
        throw error;
      }
    },
    say: ({ host }, { message, retrySeconds }) => {
      if (said.has(host)) return;
      said.set(host, true);
      log.warn({ upstream: host, error: message, retrySeconds }, 'an upstream cannot be asked; cached images are served as they are');
    },
  };
}
