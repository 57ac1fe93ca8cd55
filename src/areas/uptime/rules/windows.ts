export type Window = '1h' | '24h' | '7d' | '30d';

/** A window in steps: the newest one is under way. */
export interface Span {
  step: number;
  steps: number;
  /** From single checks; the longer windows from what is rolled up in steps of five minutes. */
  raw: boolean;
}

const windows: Record<Window, { seconds: number; step: number }> = {
  '1h': { seconds: 3_600, step: 60 },
  '24h': { seconds: 86_400, step: 300 },
  '7d': { seconds: 604_800, step: 1_800 },
  '30d': { seconds: 2_592_000, step: 7_200 },
};

/**
 * Steps shorter than the interval would leave empty buckets. Longer steps get one more: the newest has only begun, and without it an hour
 * could be empty.
 */
export function spanOf(window: Window, intervalSeconds: number): Span {
  const { seconds, step: least } = windows[window];
  const step = Math.max(least, intervalSeconds);
  return { step, steps: Math.ceil(seconds / step) + (step > least ? 1 : 0), raw: window === '1h' };
}

interface Bucket {
  vantage: string;
  t: number;
  n: number;
  ok: number;
  ok_ms: number;
  bad_ms: number;
  missed: number;
}

const rounded = (value: number, digits: number) => Math.round(value * 10 ** digits) / 10 ** digits;

/** Series and uptime by vantage. `buckets` come by vantage, oldest first. */
export function metricsOf(buckets: readonly Bucket[]) {
  const series: { vantage: string; points: { t: number; latencyMs: number; up: number }[] }[] = [];
  const sums: Record<string, { n: number; ok: number }> = {};
  const missed: Record<string, number> = {};
  for (const { vantage, t, n, ok, ok_ms, bad_ms, missed: unmade } of buckets) {
    if (unmade > 0) missed[vantage] = (missed[vantage] ?? 0) + unmade;
    if (n === 0) continue;
    if (series.at(-1)?.vantage !== vantage) series.push({ vantage, points: [] });
    const latencyMs = ok > 0 ? ok_ms / ok : bad_ms / n;
    series.at(-1)!.points.push({ t, latencyMs: rounded(latencyMs, 3), up: rounded(ok / n, 4) });
    const sum = sums[vantage] ?? { n: 0, ok: 0 };
    sums[vantage] = { n: sum.n + n, ok: sum.ok + ok };
  }
  const uptimePct = Object.fromEntries(Object.entries(sums).map(([vantage, { n, ok }]) => [vantage, percent(n - ok, n)]));
  return { series, uptimePct, ...(Object.keys(missed).length ? { missed } : {}) };
}

/** Never 100 while a check failed, nor 0 while one passed. */
export function percent(lost: number, of: number): number {
  if (lost === 0) return 100;
  if (lost >= of) return 0;
  return Math.min(99.9999, Math.max(0.0001, rounded((100 * (of - lost)) / of, 4)));
}
