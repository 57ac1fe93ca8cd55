export const phases = ['pending', 'provisioning', 'ready', 'updating', 'degraded', 'failed', 'deleting'] as const;
export type Phase = (typeof phases)[number];

/** A change that is being made: what it is, and since when. */
export interface Change {
  what: string;
  since: string;
}

/** Where a cluster may go from each phase. `gone` is no phase: its row is not there any more. */
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

/** What may be changed: a failed one is tried again by it. */
export const isChangeable = (phase: Phase): boolean => phase === 'ready' || phase === 'degraded' || phase === 'failed';

/** Why it cannot be changed now: names what is under way. */
export function refuseChange(name: string, phase: Phase, change: Change | null): string | undefined {
  if (isChangeable(phase)) return undefined;
  if (phase === 'deleting') return `cluster ${name} is being deleted; wait until it is gone`;
  const what = change ? `${change.what}, since ${change.since}` : 'it is being provisioned';
  return `concurrent change: cluster ${name} is ${phase} (${what}); try again when it is ready`;
}

/** Why what needs the control plane's endpoint cannot be done. */
export function refuseEndpoint(name: string, phase: Phase, endpoint: string | null): string | undefined {
  if (phase === 'deleting') return `cluster ${name} is deleting; nothing can be asked of it any more`;
  return endpoint === null ? `cluster ${name} is ${phase} and has no endpoint yet; try again when it is ready` : undefined;
}

/** After so many failures in a row a change counts as failed; it is tried on all the same. */
export const failedAfter = 3;

/** How long after the n-th failure in a row it is tried again. */
export const retrySeconds = (failures: number): number => Math.min(60, 2 ** Math.min(failures, 6));

/** What a failure makes of a phase: a change that keeps failing has failed, a running plane is degraded. */
export function phaseAfterFailure(phase: Phase, failures: number): Phase {
  if (phase === 'deleting' || phase === 'failed') return phase;
  if (phase === 'ready' || phase === 'degraded') return 'degraded';
  return failures >= failedAfter ? 'failed' : phase;
}
