import type { Judgement, OncallStoryEntry } from '../../../sdk/browser.ts';

// How an entry of a story is judged, where it leads, and how far it is from the beginning. Pure.

const judgements: Record<Judgement, readonly string[]> = {
  bad: [
    'probe_failed',
    'monitor_down',
    'opened',
    'alert_firing',
    'alert_rejected',
    'page_failed',
    'nobody_on_call',
    'no_policy',
    'escalation_exhausted',
    'cluster_failed',
  ],
  attention: [
    'monitor_pending',
    'page_held_back',
    'page_delayed',
    'payload_truncated',
    'alert_stale',
    'responder_left',
    'cluster_degraded',
  ],
  good: [
    'probe_passed',
    'monitor_up',
    'alert_resolved',
    'alerts_ended',
    'page_delivered',
    'page_confirmed',
    'acknowledged',
    'resolved',
    'cluster_ready',
  ],
  waiting: [
    'step_fired',
    'page_queued',
    'page_sent',
    'walk_restarted',
    'mails',
    'update_published',
    'cluster_changing',
    'cluster_updating',
    'cluster_provisioning',
  ],
};

const byKind = new Map(Object.entries(judgements).flatMap(([judgement, kinds]) => kinds.map((kind) => [kind, judgement as Judgement])));

/** A kind of a later release has no sign of its own. */
export const judgementOf = (kind: string): Judgement | 'unknown' => byKind.get(kind) ?? 'unknown';

/** The screens of things that an entry names by what their path takes. The audit log names some by an id that no path takes: those have none. */
const places: Record<string, string> = {
  monitor: '/uptime/monitors',
  'uptime.monitor': '/uptime/monitors',
  'oncall.service': '/services',
  'services.service': '/services',
  'oncall.policy': '/oncall/policies',
  'oncall.schedule': '/oncall/schedules',
  'email.domain': '/email/domains',
  cluster: '/clusters',
};

export function placeOf({ ref, title }: Pick<OncallStoryEntry, 'ref' | 'title'>): string | undefined {
  // What was deleted has no screen.
  if (!ref || /\.delete$/.test(title)) return undefined;
  if (ref.kind === 'repository')
    return `/registry/${encodeURIComponent(ref.parents[0] ?? '')}/repository?name=${encodeURIComponent(ref.id)}`;
  const path = places[ref.kind];
  return path && `${path}/${encodeURIComponent(ref.id)}`;
}

const units = [
  [86_400, 'd'],
  [3_600, 'h'],
  [60, 'min'],
  [1, 's'],
] as const;

/** `+3 min 12 s`: how long after the beginning, or before it. */
export function offsetOf(at: string, from: string): string {
  const seconds = Math.round((Date.parse(at) - Date.parse(from)) / 1_000);
  if (!seconds) return '0 s';
  return `${seconds < 0 ? '−' : '+'}${spanOf(Math.abs(seconds))}`;
}

/** In its two largest units. */
export function spanOf(seconds: number): string {
  const first = units.findIndex(([size]) => seconds >= size);
  if (first < 0) return '0 s';
  const [size, word] = units[first]!;
  const next = units[first + 1];
  const rest = next ? Math.floor((seconds % size) / next[0]) : 0;
  return `${Math.floor(seconds / size)} ${word}${rest ? ` ${rest} ${next![1]}` : ''}`;
}
