import type { Result } from '../../../protocols/agent.ts';
import { bound, type Family, labelText, type Sample } from './export-text.ts';
import { latencyBounds } from './latency.ts';

/** A monitor as scrapers see it. */
export interface Exported {
  id: string;
  name: string;
  service: string;
  kind: 'http' | 'tcp';
  target: string;
  enabled: boolean;
  intervalSeconds: number;
  timeoutMs: number;
  state: 'pending' | 'up' | 'down';
  flapping: boolean;
  vantages: VantageSample[];
}

/** The newest result, without the fields that identify it. */
export type Latest = Omit<Result, 'monitor' | 'epoch' | 'ageMs' | 'snippet'>;

/** What one vantage last saw, and its counters. */
export interface VantageSample {
  vantage: string;
  latest: Latest;
  /** Of the newest result, in seconds. */
  age: number;
  passed: number;
  failed: number;
  errors: number;
  missed: number;
  latencySum: number;
  /** One more than there are bounds, not cumulative. */
  latencyHist: readonly number[];
}

/** The data of a scrape, gathered monitor by monitor. */
export interface Snapshot {
  monitors: LabeledMonitor[];
  series: Series[];
  vantages: readonly { id: string; available: boolean }[];
}

export function addMonitor({ monitors, series }: Snapshot, monitor: Exported): void {
  const labels = labelText({
    monitor_id: monitor.id,
    monitor: monitor.name,
    service: monitor.service,
    kind: monitor.kind,
    instance: monitor.target,
  });
  monitors.push({ monitor, labels });
  if (!monitor.enabled) return;
  for (const sample of monitor.vantages) {
    if (isStale(monitor, sample.age)) continue;
    const vantage = labelText({ vantage: sample.vantage });
    series.push({ monitor, sample, labels: `${labels},${vantage}`, shortLabels: `${labelText({ monitor_id: monitor.id })},${vantage}` });
  }
}

/** A series without a new result for this long is dropped, so that the scraper marks it stale instead of drawing a flat line. */
export const isStale = (monitor: Pick<Exported, 'intervalSeconds' | 'timeoutMs'>, age: number): boolean =>
  age > 3 * monitor.intervalSeconds + monitor.timeoutMs / 1_000;

/** A monitor with its labels as they are written. */
interface LabeledMonitor {
  monitor: Exported;
  labels: string;
}

/** One vantage's view of one monitor. */
interface Series extends LabeledMonitor {
  sample: VantageSample;
  /** Labels for counters, without the names: queries join `uptime_monitor_info` on `monitor_id`. Names would be half of the text. */
  shortLabels: string;
}

/** One gauge: its value for a monitor at a vantage, or undefined where there is none. */
type Gauge = [name: string, help: string, of: (s: Series) => number | undefined];

const seconds = (ms: number | undefined) => (ms === undefined ? undefined : ms / 1_000);
const http = (of: (result: Latest) => number | undefined) => (s: Series) => (s.monitor.kind === 'http' ? of(s.sample.latest) : undefined);
const result = (of: (result: Latest) => number | undefined) => (s: Series) => of(s.sample.latest);

// Names and meanings of blackbox_exporter, so that its dashboards and rules work as they are.
const gauges: Gauge[] = [
  ['probe_success', 'Whether the check passed', result((r) => (r.outcome === 'pass' ? 1 : 0))],
  ['probe_duration_seconds', 'How long the check took', result((r) => seconds(r.latencyMs))],
  ['probe_timeout_seconds', 'How long the check may take', ({ monitor }) => monitor.timeoutMs / 1_000],
  ['probe_dns_lookup_time_seconds', 'How long looking up the name took', result((r) => seconds(r.phases?.resolve))],
  ['probe_ip_protocol', 'Whether it was asked over IPv4 or IPv6', result((r) => r.family)],
  [
    'probe_failed_due_to_regex',
    'Whether the answer lacked what it must hold',
    result((r) => (r.errorKind === 'body_mismatch' || r.errorKind === 'prefix_mismatch' ? 1 : 0)),
  ],
  [
    'probe_ssl_earliest_cert_expiry',
    'When the first certificate of the chain expires, in Unix seconds',
    result((r) => seconds(r.certificateUntil)),
  ],
  ['probe_http_status_code', 'The status of the answer; 0 without one', http((r) => r.status ?? 0)],
  ['probe_http_redirects', 'How many redirects were followed', http((r) => r.redirects ?? 0)],
  ['probe_http_ssl', 'Whether the last request was made over TLS', http((r) => (r.tlsVersion === undefined ? 0 : 1))],
  [
    'probe_http_version',
    'The version of HTTP in the answer',
    http((r) => (r.httpVersion === undefined ? undefined : Number(r.httpVersion))),
  ],
  [
    'probe_http_content_length',
    'The length that the answer names; -1 when it names none',
    http((r) => (r.status === undefined ? undefined : (r.contentLength ?? -1))),
  ],
];

const phases = [
  ['resolve', 'resolve'],
  ['connect', 'connect'],
  ['tls', 'tls'],
  ['processing', 'firstByte'],
  ['transfer', 'transfer'],
] as const;

const outcomes = [
  ['pass', 'passed'],
  ['fail', 'failed'],
  ['error', 'errors'],
  ['missed', 'missed'],
] as const;

function* each<T>(items: Iterable<T>, samples: (item: T) => Iterable<Sample>): Generator<Sample> {
  for (const item of items) yield* samples(item);
}

export function families({ monitors, series, vantages }: Snapshot): Family[] {
  // A check that was never made says nothing about the target.
  const made = series.filter((s) => s.sample.latest.outcome !== 'missed');
  return [
    ...gauges.map(
      ([name, help, of]): Family => ({
        name,
        type: 'gauge',
        help,
        samples: each(made, (s) => {
          const value = of(s);
          return value === undefined || Number.isNaN(value) ? [] : [{ labels: s.labels, value }];
        }),
      }),
    ),
    ...detailsOf(made),
    ...countsOf(series),
    ...statesOf(monitors),
    {
      name: 'uptime_vantage_available',
      type: 'gauge',
      help: 'Whether the vantage reports',
      samples: each(vantages, (v) => [{ labels: labelText({ vantage: v.id }), value: v.available ? 1 : 0 }]),
    },
  ];
}

const detailsOf = (made: readonly Series[]): Family[] => [
  {
    name: 'probe_http_duration_seconds',
    type: 'gauge',
    help: 'How long each phase took, summed over redirects',
    samples: each(made, ({ monitor, sample, labels }) =>
      monitor.kind === 'http'
        ? phases.map(([phase, key]) => ({ labels, extraLabel: ['phase', phase], value: seconds(sample.latest.phases?.[key]) ?? 0 }))
        : [],
    ),
  },
  {
    name: 'probe_tls_version_info',
    type: 'gauge',
    help: 'The version of TLS that was spoken',
    samples: each(made, ({ sample, labels }) =>
      sample.latest.tlsVersion === undefined ? [] : [{ labels: `${labels},${labelText({ version: sample.latest.tlsVersion })}`, value: 1 }],
    ),
  },
];

const countsOf = (series: readonly Series[]): Family[] => [
  {
    name: 'uptime_check_total',
    type: 'counter',
    help: 'Checks since the monitor was made, by how they ended',
    samples: each(series, ({ sample, shortLabels }) =>
      outcomes.map(([outcome, key]) => ({ labels: shortLabels, extraLabel: ['outcome', outcome], value: sample[key] })),
    ),
  },
  {
    name: 'uptime_check_duration_seconds',
    type: 'histogram',
    help: 'How long checks took',
    samples: each(series, ({ sample, shortLabels }) => histogram(sample, shortLabels)),
  },
];

const statesOf = (monitors: readonly LabeledMonitor[]): Family[] => [
  {
    name: 'uptime_monitor_state',
    type: 'gauge',
    help: 'What all vantages together say: 1 for the state that it is in',
    samples: each(monitors, ({ monitor, labels }) =>
      states.map((state) => ({ labels, extraLabel: ['state', state], value: monitor.state === state ? 1 : 0 })),
    ),
  },
  {
    name: 'uptime_monitor_flapping',
    type: 'gauge',
    help: 'Whether it changes so often that its coming up is not told yet',
    samples: each(monitors, ({ monitor, labels }) => [{ labels, value: monitor.flapping ? 1 : 0 }]),
  },
  {
    name: 'uptime_monitor_info',
    type: 'gauge',
    help: 'What the monitor is set to',
    samples: each(monitors, ({ monitor: { enabled, intervalSeconds }, labels }) => [
      { labels: `${labels},enabled="${enabled}",interval_seconds="${intervalSeconds}"`, value: 1 },
    ]),
  },
];

const states = ['pending', 'up', 'down'] as const;

/** The stored bounds that are exported. Buckets are cumulative, so leaving one out loses nothing of the others. */
const exportedBounds: ReadonlySet<number> = new Set([0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]);

function histogram({ latencyHist, latencySum }: VantageSample, labels: string): Sample[] {
  let below = 0;
  const buckets = latencyBounds.flatMap((le, i): Sample[] => {
    below += latencyHist[i] ?? 0;
    return exportedBounds.has(le) ? [{ suffix: '_bucket', labels, extraLabel: ['le', bound(le)], value: below }] : [];
  });
  const count = latencyHist.reduce((sum, n) => sum + n, 0);
  return [
    ...buckets,
    { suffix: '_bucket', labels, extraLabel: ['le', '+Inf'], value: count },
    { suffix: '_sum', labels, value: latencySum },
    { suffix: '_count', labels, value: count },
  ];
}
