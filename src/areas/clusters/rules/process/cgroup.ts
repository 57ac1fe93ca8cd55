import { kineMiB, limitsOf } from './limits.ts';

// Where the programs of a cluster are held apart from everything else, if the server may: cgroup v2, as the kernel's files tell it.

/** The directory of a process's own cgroup, from its `cgroup` and `mountinfo`; undefined: there is no cgroup v2, or it is out of sight. */
export function findOwnDirectory(cgroup: string, mountinfo: string): string | undefined {
  const path = /^0::(\/.*)$/m.exec(cgroup)?.[1];
  const mount = mountinfo.split('\n').find((line) => / - cgroup2 /.test(line));
  const [, , , root, point] = mount?.split(' ') ?? [];
  if (path === undefined || root === undefined || point === undefined) return undefined;
  const below = root === '/' ? path : path === root ? '' : path.startsWith(`${root}/`) ? path.slice(root.length) : undefined;
  if (below === undefined || below.split('/').includes('..')) return undefined;
  let whole = `${plainText(point)}${plainText(below)}`;
  while (whole.length > 1 && whole.endsWith('/')) whole = whole.slice(0, -1);
  return whole;
}

/** Spaces and the like stand in mountinfo as octal numbers. */
const plainText = (text: string) => text.replaceAll(/\\([0-7]{3})/g, (_, digits) => String.fromCharCode(Number.parseInt(digits, 8)));

/** What the kernel must be able to bound. */
export const controllers = ['memory', 'cpu'] as const;

/** Of those, the ones that a list of the kernel's lacks. */
export const lackingOf = (list: string): string[] => controllers.filter((name) => !list.split(/\s+/).includes(name));

/** What all programs of one cluster may take together. */
export interface CgroupLimits {
  /** From here on the kernel slows them down and takes back what it can. */
  highMiB: number;
  /** Here it ends one of them. */
  mostMiB: number;
  /** Its share of the processors when others want them too: 100 is a small cluster's. */
  weight: number;
}

const weights: Record<string, number> = { small: 100, medium: 200, large: 400 };

/** Room for what Go keeps below for each program, for two sets of apiservers during a change, and a quarter more before anything is ended. */
export function wallsOf(tier: string, replicas: number): CgroupLimits {
  const { apiserverMiB, controllerManagerMiB, schedulerMiB } = limitsOf(tier);
  const highMiB = kineMiB + 2 * replicas * apiserverMiB + controllerManagerMiB + schedulerMiB;
  return { highMiB, mostMiB: Math.ceil(highMiB * 1.25), weight: weights[tier] ?? 100 };
}

/** Both are kept to until the old apiservers have left: nobody is ended because a tier became smaller. */
export const widerOf = (a: CgroupLimits, b: CgroupLimits): CgroupLimits => ({
  highMiB: Math.max(a.highMiB, b.highMiB),
  mostMiB: Math.max(a.mostMiB, b.mostMiB),
  weight: Math.max(a.weight, b.weight),
});

/** The kernel's files that say so. */
export const limitFiles = ['memory.max', 'memory.high', 'cpu.weight'] as const;

const mebibyte = 2 ** 20;

export const filesOfWalls = ({ highMiB, mostMiB, weight }: CgroupLimits): [name: string, value: string][] => [
  ['memory.max', String(mostMiB * mebibyte)],
  ['memory.high', String(highMiB * mebibyte)],
  ['cpu.weight', String(weight)],
];

/** The same, read. What a new cgroup has is no bound yet: `max`. */
export function wallsIn([most, high, weight]: readonly string[]): CgroupLimits {
  const count = (text: string | undefined) => (/^\d+$/.test(text?.trim() ?? '') ? Number(text) : 0);
  return { highMiB: count(high) / mebibyte, mostMiB: count(most) / mebibyte, weight: count(weight) };
}

/** How many of its programs the kernel ended for their memory, from its `memory.events`. */
export const memoryKillsIn = (events: string): number => Number(/^oom_kill (\d+)$/m.exec(events)?.[1] ?? 0);
