import type { Metric, Registry } from 'prom-client';

export interface TimingsOptions<Label extends string> {
  name: string;
  help: string;
  labelNames: readonly Label[];
  /** Upper bounds in seconds, the smallest first. */
  buckets: readonly number[];
  registry: Registry;
}

/**
 * Durations as a Prometheus histogram. prom-client's own hashes the labels at every observation, which is expensive for a small request.
 */
export interface Timings<Label extends string> {
  /** Returns the observer of one series; call it once and keep it. */
  series(labels: Record<Label, string>): (seconds: number) => void;
}

interface Series {
  labels: Record<string, string>;
  /** Observations in each bucket and no smaller one; the last is for those beyond all bounds. */
  counts: number[];
  sum: number;
}

export function makeTimings<Label extends string>({ name, help, labelNames, buckets, registry }: TimingsOptions<Label>): Timings<Label> {
  const known = new Map<string, Series>();
  const open = (labels: Record<Label, string>): Series => {
    const key = labelNames.map((label) => labels[label]).join('\n');
    const series = known.get(key) ?? { labels, counts: new Array(buckets.length + 1).fill(0), sum: 0 };
    known.set(key, series);
    return series;
  };
  const metric = {
    name,
    help,
    get: async () => ({
      name,
      help,
      type: 'histogram',
      aggregator: 'sum',
      values: [...known.values()].flatMap((series) => toMetricValues(name, buckets, series)),
    }),
    reset: () => known.clear(),
  };
  registry.registerMetric(metric as never as Metric);
  return {
    series: (labels) => {
      const series = open(labels);
      return (seconds) => {
        let n = 0;
        while (n < buckets.length && seconds > buckets[n]!) n++;
        series.counts[n]!++;
        series.sum += seconds;
      };
    },
  };
}

/** Prometheus buckets are cumulative. */
function toMetricValues(name: string, buckets: readonly number[], { labels, counts, sum }: Series) {
  let count = 0;
  const values = [...buckets, '+Inf'].map((le, n) => {
    count += counts[n]!;
    return { metricName: `${name}_bucket`, labels: { le, ...labels }, value: count };
  });
  return [...values, { metricName: `${name}_sum`, labels, value: sum }, { metricName: `${name}_count`, labels, value: count }];
}
