import { memberLimitsOf } from './etcd/limits.ts';
import { memberCountOf } from './etcd/members.ts';
import { kineMiB, limitsOf } from './limits.ts';

// Limits of a cluster's programs by cgroup v2, and the text formats of the kernel's files.

/** The directory of a process's cgroup, from its `cgroup` and `mountinfo`; undefined: there is no cgroup v2, or it is not mounted here. */
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

/** mountinfo writes spaces and the like as octal numbers. */
const plainText = (text: string) => text.replaceAll(/\\([0-7]{3})/g, (_, digits) => String.fromCharCode(Number.parseInt(digits, 8)));

/** The controllers that are needed. */
export const controllers = ['memory', 'cpu'] as const;

/** The needed controllers that are missing from a list of the kernel's. */
export const missingControllers = (list: string): string[] => controllers.filter((name) => !list.split(/\s+/).includes(name));

/** Limits for all programs of one cluster together. */
export interface CgroupLimits {
  /** Above this the kernel throttles the programs and reclaims memory. */
  highMiB: number;
  /** At this the kernel kills one of them. */
  maxMiB: number;
  /** The processor share under contention; 100 is a small cluster's. */
  weight: number;
}

const weights: Record<string, number> = { small: 100, medium: 200, large: 400 };

/** The part of a cluster's row that its limits follow from. */
export interface LimitedCluster {
  tier: string;
  replicas: number;
  store: string;
  datastore: { size?: string; replicas?: number };
}

/** Two sets of members, as during a restore. */
const storeMiBOf = ({ store, datastore: { size, replicas } }: LimitedCluster): number =>
  store === 'etcd' ? 2 * memberCountOf(replicas) * memberLimitsOf(size).memoryMiB : kineMiB;

/** The sum of the programs' GOMEMLIMITs, with two sets of apiservers as during a change; a quarter more before the kernel kills. */
export function cgroupLimitsOf(cluster: LimitedCluster): CgroupLimits {
  const { tier, replicas } = cluster;
  const { apiserverMiB, controllerManagerMiB, schedulerMiB } = limitsOf(tier);
  const highMiB = storeMiBOf(cluster) + 2 * replicas * apiserverMiB + controllerManagerMiB + schedulerMiB;
  return { highMiB, maxMiB: Math.ceil(highMiB * 1.25), weight: weights[tier] ?? 100 };
}

/** Used until the old apiservers have stopped, so that no program is killed because its tier shrinks. */
export const largerLimits = (a: CgroupLimits, b: CgroupLimits): CgroupLimits => ({
  highMiB: Math.max(a.highMiB, b.highMiB),
  maxMiB: Math.max(a.maxMiB, b.maxMiB),
  weight: Math.max(a.weight, b.weight),
});

/** The kernel's files for the limits. */
export const limitFiles = ['memory.max', 'memory.high', 'cpu.weight'] as const;

const mebibyte = 2 ** 20;

export const limitFileContents = ({ highMiB, maxMiB: mostMiB, weight }: CgroupLimits): [name: string, value: string][] => [
  ['memory.max', String(mostMiB * mebibyte)],
  ['memory.high', String(highMiB * mebibyte)],
  ['cpu.weight', String(weight)],
];

/** Parses these files. A new cgroup has no limit yet (`max`), which reads as 0. */
export function parseLimits([most, high, weight]: readonly string[]): CgroupLimits {
  const count = (text: string | undefined) => (/^\d+$/.test(text?.trim() ?? '') ? Number(text) : 0);
  return { highMiB: count(high) / mebibyte, maxMiB: count(most) / mebibyte, weight: count(weight) };
}

/** The number of OOM kills in `memory.events`. */
export const parseOomKills = (events: string): number => Number(/^oom_kill (\d+)$/m.exec(events)?.[1] ?? 0);
