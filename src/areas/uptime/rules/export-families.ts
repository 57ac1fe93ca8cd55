import type { Result } from '../../../protocols/agent.ts';
import { bound, type Family, type Labels, type Sample } from './export-text.ts';
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
  vantages: Seen[];
}

/** The newest result, without what says which one it is. */
export type Latest = Omit<Result, 'monitor' | 'epoch' | 'ageMs' | 'snippet'>;

/** What one vantage saw. */
export interface Seen {
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

export interface Snapshot {
  monitors: readonly Exported[];
  vantages: readonly { id: string; available: boolean }[];
}

/** A series that nothing was added to for so long is dropped, so that a scraper marks it as stale instead of drawing a flat line. */
export const isStale = (monitor: Pick<Exported, 'intervalSeconds' | 'timeoutMs'>, age: number): boolean =>
  age > 3 * monitor.intervalSeconds + monitor.timeoutMs / 1_000;

interface Subject {
  monitor: Exported;
  seen: Seen;
  labels: Labels;
}

/** One gauge: its value for a monitor at a vantage, or undefined where there is none. */
type Gauge = [name: string, help: string, of: (s: Subject) => number | undefined];

const seconds = (ms: number | undefined) => (ms === undefined ? undefined : ms / 1_000);
const http = (of: (result: Latest) => number | undefined) => (s: Subject) => (s.monitor.kind === 'http' ? of(s.seen.latest) : undefined);
const result = (of: (result: Latest) => number | undefined) => (s: Subject) => of(s.seen.latest);

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

export function families({ monitors, vantages }: Snapshot): Family[] {
  const subjects = monitors.flatMap((monitor) =>
    monitor.enabled
      ? monitor.vantages
          .filter((seen) => !isStale(monitor, seen.age))
          .map((seen): Subject => ({ monitor, seen, labels: { ...labelsOf(monitor), vantage: seen.vantage } }))
      : [],
  );
  // A check that was never made says nothing about the target.
  const made = subjects.filter((s) => s.seen.latest.outcome !== 'missed');
  const each = (name: string, type: Family['type'], help: string, of: readonly Subject[], samples: (s: Subject) => Sample[]): Family => ({
    name,
    type,
    help,
    samples: of.flatMap(samples),
  });
  return [
    ...gauges.map(([name, help, of]) =>
      each(name, 'gauge', help, made, (s) => {
        const value = of(s);
        return value === undefined || Number.isNaN(value) ? [] : [{ labels: s.labels, value }];
      }),
    ),
    each('probe_http_duration_seconds', 'gauge', 'How long each phase took, summed over redirects', made, (s) =>
      s.monitor.kind === 'http'
        ? phases.map(([phase, key]) => ({ labels: { ...s.labels, phase }, value: seconds(s.seen.latest.phases?.[key]) ?? 0 }))
        : [],
    ),
    each('probe_tls_version_info', 'gauge', 'The version of TLS that was spoken', made, ({ seen, labels }) =>
      seen.latest.tlsVersion === undefined ? [] : [{ labels: { ...labels, version: seen.latest.tlsVersion }, value: 1 }],
    ),
    each('uptime_check_total', 'counter', 'Checks since the monitor was made, by how they ended', subjects, ({ seen, labels }) =>
      outcomes.map(([outcome, key]) => ({ labels: { ...labels, outcome }, value: seen[key] })),
    ),
    each('uptime_check_duration_seconds', 'histogram', 'How long checks took', subjects, ({ seen, labels }) => histogram(seen, labels)),
    {
      name: 'uptime_monitor_state',
      type: 'gauge',
      help: 'What all vantages together say: 1 for the state that it is in',
      samples: monitors.flatMap((m) =>
        (['pending', 'up', 'down'] as const).map((state) => ({ labels: { ...labelsOf(m), state }, value: m.state === state ? 1 : 0 })),
      ),
    },
    {
      name: 'uptime_monitor_flapping',
      type: 'gauge',
      help: 'Whether it changes so often that its coming up is not told yet',
      samples: monitors.map((m) => ({ labels: labelsOf(m), value: m.flapping ? 1 : 0 })),
    },
    {
      name: 'uptime_monitor_info',
      type: 'gauge',
      help: 'What the monitor is set to',
      samples: monitors.map((m) => ({
        labels: { ...labelsOf(m), enabled: String(m.enabled), interval_seconds: String(m.intervalSeconds) },
        value: 1,
      })),
    },
    {
      name: 'uptime_vantage_available',
      type: 'gauge',
      help: 'Whether the vantage reports',
      samples: vantages.map((v) => ({ labels: { vantage: v.id }, value: v.available ? 1 : 0 })),
    },
  ];
}

const labelsOf = (m: Exported): Labels => ({ monitor_id: m.id, monitor: m.name, service: m.service, kind: m.kind, instance: m.target });

function histogram({ latencyHist, latencySum }: Seen, labels: Labels): Sample[] {
  let below = 0;
  const buckets = latencyBounds.map((le, i): Sample => {
    below += latencyHist[i] ?? 0;
    return { suffix: '_bucket', labels: { ...labels, le: bound(le) }, value: below };
  });
  const count = latencyHist.reduce((sum, n) => sum + n, 0);
  return [
    ...buckets,
    { suffix: '_bucket', labels: { ...labels, le: '+Inf' }, value: count },
    { suffix: '_sum', labels, value: latencySum },
    { suffix: '_count', labels, value: count },
  ];
}
