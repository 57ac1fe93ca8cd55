import { Counter, Gauge } from 'prom-client';
import { QuickCounter } from '../../../kernel/http/quick-counter.ts';

/** Counters of the registry, from the first request on. */
export interface RegistryMetrics {
  pulls: QuickCounter<'registry'>;
  pushes: Counter<'registry'>;
  bytes: QuickCounter<'registry' | 'direction'>;
  refusals: Counter<'code'>;
  /** `served`, `stale` and `missing`: answers to clients. `asked` and `away`: requests to the upstream. */
  cacheManifests: Counter<'upstream' | 'result'>;
  cacheFills: Counter<'upstream' | 'result'>;
  /** As the upstream reports it for the login used last. */
  upstreamRemaining: Gauge<'upstream'>;
}

const counter = <L extends string>(name: string, help: string, labelNames: L[]) => new Counter({ name, help, labelNames, registers: [] });
const quickCounter = <L extends string>(name: string, help: string, labelNames: L[]) =>
  new QuickCounter({ name, help, labelNames, registers: [] });

export const makeRegistryMetrics = (): RegistryMetrics => ({
  pulls: quickCounter('quarterdeck_registry_pulls_total', 'Manifests sent, by registry', ['registry']),
  pushes: counter('quarterdeck_registry_pushes_total', 'Manifests taken, by registry', ['registry']),
  bytes: quickCounter('quarterdeck_registry_blob_bytes_total', 'Bytes of blobs, by registry and direction', ['registry', 'direction']),
  refusals: counter('quarterdeck_registry_refusals_total', 'Refused requests of the data plane, by error code', ['code']),
  cacheManifests: counter(
    'quarterdeck_registry_cache_manifests_total',
    'Manifests of the pull-through cache: served, stale or missing, and how often the upstream was asked or away',
    ['upstream', 'result'],
  ),
  cacheFills: counter('quarterdeck_registry_cache_fills_total', 'Blobs that the pull-through cache fetched, by how it ended', [
    'upstream',
    'result',
  ]),
  upstreamRemaining: new Gauge({
    name: 'quarterdeck_registry_upstream_ratelimit_remaining',
    help: 'How many more pulls an upstream allows, as it last said',
    labelNames: ['upstream'],
    registers: [],
  }),
});
