export const phases = ['pending', 'provisioning', 'ready', 'updating', 'degraded', 'failed', 'deleting'] as const;
export type Phase = (typeof phases)[number];

/** A running change: what it is, and when it started. */
export interface Change {
  what: string;
  since: string;
}

/** Allowed transitions. `gone` is not a phase: the row is deleted. */
const transitions: Record<Phase, readonly (Phase | 'gone')[]> = {
  pending: ['provisioning', 'failed', 'deleting'],
  provisioning: ['ready', 'failed', 'deleting'],
  ready: ['updating', 'degraded', 'failed', 'deleting'],
  updating: ['ready', 'failed', 'deleting'],
  degraded: ['ready', 'updating', 'failed', 'deleting'],
  failed: ['provisioning', 'updating', 'ready', 'deleting'],
  deleting: ['gone'],
};

export const mayBecome = (from: Phase, to: Phase | 'gone'): boolean => transitions[from].includes(to);

/** Whether a cluster accepts a change; a change retries a failed one. */
export const isChangeable = (phase: Phase): boolean => phase === 'ready' || phase === 'degraded' || phase === 'failed';

/** Why it cannot be changed now; names the running change. */
export function refuseChange(name: string, phase: Phase, change: Change | null): string | undefined {
  if (isChangeable(phase)) return undefined;
  if (phase === 'deleting') return `cluster ${name} is being deleted; wait until it is gone`;
  const what = change ? `${change.what}, since ${change.since}` : 'it is being provisioned';
  return `concurrent change: cluster ${name} is ${phase} (${what}); try again when it is ready`;
}

/** Why an operation that needs the endpoint is impossible. */
export function refuseEndpoint(name: string, phase: Phase, endpoint: string | null): string | undefined {
  if (phase === 'deleting') return `cluster ${name} is deleting; nothing can be asked of it any more`;
  return endpoint === null ? `cluster ${name} is ${phase} and has no endpoint yet; try again when it is ready` : undefined;
}

/** Consecutive failures after which a change counts as failed; retries continue. */
export const failedAfter = 3;

/** The backoff after the n-th consecutive failure. */
export const retrySeconds = (failures: number): number => Math.min(60, 2 ** Math.min(failures, 6));

/** The phase after a failure: a change that keeps failing is failed, a running plane is degraded. */
export function phaseAfterFailure(phase: Phase, failures: number): Phase {
  if (phase === 'deleting' || phase === 'failed') return phase;
  if (phase === 'ready' || phase === 'degraded') return 'degraded';
  return failures >= failedAfter ? 'failed' : phase;
}
