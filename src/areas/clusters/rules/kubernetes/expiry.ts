import type { Json, KubeObject } from './object.ts';
import { textOf } from './object.ts';

// What goes by itself after a while, as it does in Kubernetes: events after an hour, signing requests an hour after they were decided.

const hourMs = 3_600_000;

/** Kinds of which the old ones go. */
export const expiringResources = ['events', 'certificatesigningrequests.certificates.k8s.io'];

export function isExpired(object: KubeObject, now: string): boolean {
  const age = (since: unknown) => Date.parse(now) - Date.parse(textOf(since));
  const created = object.metadata.creationTimestamp;
  // Other times of an event are its author's, who may write any year.
  if (object.kind === 'Event') return age(created) > hourMs;
  if (object.kind !== 'CertificateSigningRequest') return false;
  const conditions = (object.status?.['conditions'] ?? []) as Json[];
  const decided = conditions.find(({ type }) => type === 'Approved' || type === 'Denied' || type === 'Failed');
  return decided ? age(created) > hourMs : age(created) > 24 * hourMs;
}
