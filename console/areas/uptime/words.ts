import type { UptimeMonitor, UptimeVantage } from '../../../sdk/browser.ts';
import { duration } from '../../../sdk/browser.ts';

// What the screens of uptime say in words. Pure.

const kinds: Record<string, string> = {
  status_mismatch: 'another status',
  body_mismatch: 'another body',
  prefix_mismatch: 'another answer',
  dns_not_found: 'name not found',
  dns_failure: 'name lookup failed',
  dns_timeout: 'name lookup timed out',
  connection_refused: 'connection refused',
  connection_reset: 'connection reset',
  connect_timeout: 'no connection in time',
  network_unreachable: 'network unreachable',
  tls_handshake: 'TLS handshake failed',
  tls_certificate: 'certificate not valid',
  timeout: 'timed out',
  too_many_redirects: 'too many redirects',
  protocol: 'not the protocol',
  blocked_target: 'address not allowed',
};

/** A kind of a later server is shown as it is. */
export const errorWords = (kind: string): string => kinds[kind] ?? kind.replaceAll('_', ' ');

export const targetOf = ({ http, tcp }: Pick<UptimeMonitor, 'http' | 'tcp'>): string =>
  http?.url ?? (tcp ? `${tcp.host}:${tcp.port}${tcp.tls ? ' with TLS' : ''}` : '');

export const downWords = ({
  downCondition: { confirmations, quorum },
  vantages,
}: Pick<UptimeMonitor, 'downCondition' | 'vantages'>): string =>
  `${plural(confirmations, 'check')} in a row ${confirmations === 1 ? 'fails' : 'fail'}${
    vantages.length > 1 ? ` at ${quorum} of ${vantages.length} vantages` : ''
  }`;

export const everyWords = (seconds: number): string => `every ${duration(seconds)}`;

export const plural = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

export const milliseconds = (value: number): string => {
  if (value >= 10_000) return `${Math.round(value / 1000)} s`;
  if (value >= 10) return `${Math.round(value)} ms`;
  return `${Math.round(value * 10) / 10} ms`;
};

/** What people call a vantage; its id where the catalog does not have it. */
export const labelOf = (vantages: readonly UptimeVantage[] | undefined, id: string): string =>
  vantages?.find((vantage) => vantage.id === id)?.label ?? id;
