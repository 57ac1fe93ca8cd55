import type { TierName } from '../tiers.ts';
import { isTier, tierOf } from '../tiers.ts';

/** Resources of one cluster's programs by tier. The memory is GOMEMLIMIT, a soft limit for Go's collector. */
export interface ProgramLimits {
  processors: number;
  apiserverMiB: number;
  controllerManagerMiB: number;
  schedulerMiB: number;
  inflight: number;
  mutating: number;
}

const programs: Record<TierName, Omit<ProgramLimits, 'inflight' | 'mutating'>> = {
  small: { processors: 2, apiserverMiB: 512, controllerManagerMiB: 192, schedulerMiB: 128 },
  medium: { processors: 4, apiserverMiB: 2_048, controllerManagerMiB: 512, schedulerMiB: 256 },
  large: { processors: 8, apiserverMiB: 8_192, controllerManagerMiB: 2_048, schedulerMiB: 1_024 },
};

/** The same for every tier, so that a change of tier does not restart kine, without which every apiserver loses its store for a moment. */
export const kineMiB = 256;

export function limitsOf(tier: string): ProgramLimits {
  const { inflight } = tierOf(tier);
  return { ...programs[isTier(tier) ? tier : 'small'], inflight, mutating: Math.ceil(inflight / 2) };
}
