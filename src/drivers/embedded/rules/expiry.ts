import type { Json, KubeObject } from './object.ts';
import { textOf } from './object.ts';

// Objects that expire, as in Kubernetes: events an hour after creation; signing requests an hour after creation once they are decided, else
// after a day.

const hourMs = 3_600_000;

export const expiringResources = ['events', 'certificatesigningrequests.certificates.k8s.io'];

export function isExpired(object: KubeObject, now: string): boolean {
  const age = (since: unknown) => Date.parse(now) - Date.parse(textOf(since));
  const created = object.metadata.creationTimestamp;
  // An event's other timestamps are set by its author, who may write any year.
  if (object.kind === 'Event') return age(created) > hourMs;
  if (object.kind !== 'CertificateSigningRequest') return false;
  const conditions = (object.status?.['conditions'] ?? []) as Json[];
  const decided = conditions.find(({ type }) => type === 'Approved' || type === 'Denied' || type === 'Failed');
  return decided ? age(created) > hourMs : age(created) > 24 * hourMs;
}
