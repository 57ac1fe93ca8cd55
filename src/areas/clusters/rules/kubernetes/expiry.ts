import type { Json, KubeObject } from './object.ts';
import { textOf } from './object.ts';

// What goes by itself after a while, as it does in Kubernetes: events after an hour, signing requests an hour after they were decided.

const hourMs = 3_600_000;

/** Kinds of which the oldest are looked at. */
export const passing = ['events', 'certificatesigningrequests.certificates.k8s.io'];

export function isPast(object: KubeObject, now: string): boolean {
  const age = (since: unknown) => Date.parse(now) - Date.parse(textOf(since));
  const created = object.metadata.creationTimestamp;
  if (object.kind === 'Event') {
    const last = [object['lastTimestamp'], object['eventTime'], (object['series'] as Json | undefined)?.['lastObservedTime'], created];
    return last.filter(Boolean).every((at) => age(at) > hourMs);
  }
  if (object.kind !== 'CertificateSigningRequest') return false;
  const conditions = (object.status?.['conditions'] ?? []) as Json[];
  const decided = conditions.find(({ type }) => type === 'Approved' || type === 'Denied' || type === 'Failed');
  return decided ? age(created) > hourMs : age(created) > 24 * hourMs;
}
