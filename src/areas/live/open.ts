import type { Host, Opened } from '../area.ts';
import { defaultLimits, Hub, type Limits } from './engine/hub.ts';
import { makeCounters, measureStreams } from './metrics.ts';

export interface OpenLive {
  hub: Hub;
}

export function openLive({ app }: Host, limits: Limits = defaultLimits): Opened<OpenLive> {
  const counters = makeCounters();
  const hub = new Hub(app, { told: (streams) => counters.hints.inc(streams), ended: (reason) => counters.ended.inc({ reason }) }, limits);
  // Streams never end by themselves, and a server that ends waits for its connections.
  app.ending.addEventListener('abort', () => hub.stop(), { once: true });
  return {
    own: { hub },
    metrics: (registry) => measureStreams(registry, hub, counters),
    stop: async () => hub.close(),
  };
}
