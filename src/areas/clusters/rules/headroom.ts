import type { Tier } from './tiers.ts';

/** One sample of a cluster's usage. */
export interface Sample {
  nodes: number;
  inflight: number;
  bytes: number;
}

/** Downsizing is judged by the samples of this window, and needs at least this many. */
export const windowMinutes = 15;
export const minSamples = 3;
const usableShare = 0.8;

/** The nearest-rank percentile: always a value that occurred. 0 without values. */
export function p95(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * 0.95) - 1)] ?? 0;
}

interface Dimension {
  name: string;
  of: (sample: Sample) => number;
  limit: (tier: Tier) => number;
  show: (value: number) => string;
}

const plain = (value: number) => String(Math.round(value));
const mebibytes = (value: number) => `${(value / 2 ** 20).toFixed(1)} MiB`;

const components: readonly Dimension[] = [
  { name: 'worker nodes', of: (s) => s.nodes, limit: (t) => t.nodes, show: plain },
  { name: 'API requests at once', of: (s) => s.inflight, limit: (t) => t.inflight, show: plain },
  { name: 'the datastore', of: (s) => s.bytes, limit: (t) => t.datastoreBytes, show: mebibytes },
];

/** Why present usage does not fit a smaller tier, the most exceeded dimension first. Undefined: it fits. */
export function refuseDownsize(to: { name: string; limits: Tier }, samples: readonly Sample[]): string | undefined {
  if (samples.length < minSamples)
    return `downsize blocked: only ${samples.length} of the ${minSamples} looks at its use that are needed were made in the last ${windowMinutes} minutes; try again in a few minutes`;
  const crowded = components
    .map((component) => {
      const used = p95(samples.map(component.of));
      const available = component.limit(to.limits) * usableShare;
      return { component, used, available, ratio: used / available };
    })
    .filter(({ used, available }) => used > available)
    .sort((a, b) => b.ratio - a.ratio);
  if (crowded.length === 0) return undefined;
  const each = crowded.map(
    ({ component: { name, show, limit }, used, available }) =>
      `${name}: ${show(used)} in use, ${to.name} has room for ${show(available)} (80% of ${show(limit(to.limits))})`,
  );
  return `downsize blocked: ${each.join('; ')}`;
}
