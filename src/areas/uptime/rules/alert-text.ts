import type { PublicTarget } from './masked-target.ts';

export interface AlertedMonitor {
  id: string;
  name: string;
  kind: 'http' | 'tcp';
  target: PublicTarget;
  vantages: readonly string[];
}

export const hostOf = (target: PublicTarget): string => ('url' in target ? new URL(target.url).host : `${target.host}:${target.port}`);

/** The query may carry a secret, so the label holds the host only. */
export const alertLabels = (m: AlertedMonitor, failing: readonly string[]): Record<string, string> => ({
  alertname: 'MonitorDown',
  monitor_id: m.id,
  kind: m.kind,
  host: hostOf(m.target),
  vantages: failing.join(','),
});

/** One sentence for the person who is paged. */
export function alertSummary(m: AlertedMonitor, failing: readonly { vantage: string; detail: string | null }[]): string {
  const where =
    m.vantages.length > 1 ? ` from ${failing.length} of ${m.vantages.length} vantages (${failing.map((f) => f.vantage).join(', ')})` : '';
  const detail = failing.find((f) => f.detail)?.detail;
  // Cut between two characters, or it could not be stored.
  return `${m.name} is down: ${hostOf(m.target)} fails${where}${detail ? `: ${detail.slice(0, 200).toWellFormed()}` : ''}`;
}
