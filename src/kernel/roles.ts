/** The parts of the product that a process runs. Scripts rely on these names. */
export const roles = ['api', 'registry', 'smtp', 'worker', 'prober', 'shard'] as const;
export type Role = (typeof roles)[number];

export const listRoles = (some: Iterable<Role>): string => [...some].join(', ');
