/** Resources of one cluster's programs by tier. The memory is GOMEMLIMIT, a soft limit for Go's collector. */
export interface ProgramLimits {
  processors: number;
  apiserverMiB: number;
  controllerManagerMiB: number;
  schedulerMiB: number;
}

const small: ProgramLimits = { processors: 2, apiserverMiB: 512, controllerManagerMiB: 192, schedulerMiB: 128 };
const programs = new Map<string, ProgramLimits>([
  ['small', small],
  ['medium', { processors: 4, apiserverMiB: 2_048, controllerManagerMiB: 512, schedulerMiB: 256 }],
  ['large', { processors: 8, apiserverMiB: 8_192, controllerManagerMiB: 2_048, schedulerMiB: 1_024 }],
]);

/** The same for every tier, so that a change of tier does not restart kine, without which every apiserver loses its store for a moment. */
export const kineMiB = 256;

export const limitsOf = (tier: string): ProgramLimits => programs.get(tier) ?? small;
