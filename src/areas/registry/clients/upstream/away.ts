import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { App } from '../../../../kernel/app.ts';
import { atMost } from '../../../../kernel/at-most.ts';
import { sealedCredential } from '../../store/upstreams.ts';
import { type Target, UpstreamAway, upstreamTopic } from './client.ts';
import { upstreamMetricsOf } from '../../engine/upstream-metrics.ts';

/** What this process knows of upstreams that cannot be asked now. */
export interface Away {
  /** Asks an upstream, unless it failed or limited us a moment ago: then it is left alone for as long as it wanted. */
  asking<T>(target: Target, act: () => Promise<T>): Promise<T>;
  /** One line in the log while it lasts, however many clients want something from it. */
  say(target: Target, away: UpstreamAway): void;
}

const sayAgainMs = 60_000;

export function makeAway(app: App): Away {
  const resting = new LRUCache<string, { until: number; away: UpstreamAway }>(atMost(10_000));
  // With another login it may well answer. Sealing the same one again makes another of it, which does no harm.
  const logins = app.caches.make<{ login: string }>({ max: 5_000 });
  const keyOf = async ({ registryId, host }: Target) => {
    const at = `${registryId} ${host}`;
    const known = await logins.get(at, async () => {
      const found = await app.db.read((tx) => sealedCredential(tx, registryId, host));
      return { value: { login: found ? hash('sha256', found.password) : 'anybody' }, topics: [upstreamTopic(registryId, host)] };
    });
    return `${at} ${known!.login}`;
  };
  const said = new LRUCache<string, true>({ max: 1_000, ttl: sayAgainMs });
  const count = ({ host }: Target, result: string) => upstreamMetricsOf(app).manifests.inc({ upstream: host, result });

  return {
    asking: async (target, act) => {
      const key = await keyOf(target);
      const rest = resting.get(key);
      if (rest && performance.now() < rest.until) throw rest.away;
      count(target, 'asked');
      try {
        const answer = await act();
        resting.delete(key);
        return answer;
      } catch (error) {
        if (error instanceof UpstreamAway) {
          count(target, 'away');
          resting.set(key, { until: performance.now() + error.retrySeconds * 1000, away: error });
        }
        throw error;
      }
    },
    say: ({ host }, { message, retrySeconds }) => {
      if (said.has(host)) return;
      said.set(host, true);
      app.log.warn({ upstream: host, error: message, retrySeconds }, 'an upstream cannot be asked; cached images are served as they are');
    },
  };
}
