import type { App } from '../../../../kernel/app.ts';
import type { Dial } from '../../clients/process/ask.ts';
import type { Cgroup } from '../../clients/process/cgroup.ts';
import type { Target } from '../../clients/process/dial.ts';
import type { ClusterDirectory } from '../../clients/process/directory.ts';
import type { ProgramRecord } from '../../clients/process/programs.ts';
import type { Ask } from '../../clients/tenant/ask.ts';
import type { ProgramKind } from '../../rules/process/programs.ts';
import type { PlaneOptions } from '../driver.ts';
import type { ForwardContext } from './forward.ts';
import type { TargetPool } from './target-pool.ts';

/** An apiserver that is there, and how requests reach it. */
export interface RunningApiserver {
  record: ProgramRecord;
  target: Target;
  /** Looks in a row at which it said nothing at all, and at which it said that it is not ready. */
  unansweredProbes: number;
  unreadyProbes: number;
}

/** What is known of a program's ends, so that one that keeps ending is not started all the time. */
export interface RestartBackoff {
  consecutiveExits: number;
  /** By the monotonic clock. */
  retryAt: number;
  startedAt: number;
}

/** The programs of a cluster that this server runs. */
export interface ProcessPlane {
  app: App;
  parts: PlaneOptions;
  directory: ClusterDirectory | undefined;
  /** The files that programs are started with now. */
  keysDir: string | undefined;
  kine: ProgramRecord | undefined;
  /** Those that requests go to, and those that are on their way out. */
  servers: RunningApiserver[];
  draining: Set<Promise<void>>;
  controllers: Map<ProgramKind, ProgramRecord>;
  backoffs: Map<string, RestartBackoff>;
  restarts: Map<ProgramKind, number>;
  pool: TargetPool;
  forwarding: ForwardContext;
  /** Whether it has, or had, a node: then it has a scheduler. */
  hasNodes: boolean;
  egress: { stop(): Promise<void> } | undefined;
  /** Where its programs are held apart; undefined: the server may not. */
  cgroup: Cgroup | undefined;
  /** How often the kernel ended somebody in it for memory, and whom. */
  oomKillCount: number;
  oomKills: Map<ProgramKind, { total: number; at: number }>;
  /** Why something has to be done; undefined: all is as it should be. */
  problem: string | undefined;
  figures: { objects: number; bytes: number; components: Component[] };
  cpu: Map<number, { seconds: number; at: number }>;
  /** How often it was applied, and what is being applied now. */
  applyCount: number;
  applying: Promise<void> | undefined;
  /** Looks at the programs now instead of at the next look. */
  checkSoon: () => void;
  stopping: AbortController;
  dial: Dial;
  ask: Ask;
}

export interface Component {
  name: string;
  cpuMilli: number;
  memoryBytes: number;
  restarts: number;
  /** The kernel ended it lately: all programs of the cluster together had too much memory. */
  outOfMemory: boolean;
}
