import type { App } from '../../../../kernel/app.ts';
import type { Dial } from '../../clients/process/ask.ts';
import type { Cgroup } from '../../clients/process/cgroup.ts';
import type { Target } from '../../clients/process/dial.ts';
import type { ClusterPlace } from '../../clients/process/place.ts';
import type { ProgramRecord } from '../../clients/process/programs.ts';
import type { Ask } from '../../clients/tenant/ask.ts';
import type { Kind } from '../../rules/process/programs.ts';
import type { PlaneParts } from '../driver.ts';
import type { Forwarding } from './forward.ts';
import type { Targets } from './targets.ts';

/** An apiserver that is there, and how requests reach it. */
export interface RunningServer {
  record: ProgramRecord;
  target: Target;
  /** Looks in a row at which it said nothing at all, and at which it said that it is not ready. */
  silent: number;
  unready: number;
}

/** What is known of a program's ends, so that one that keeps ending is not started all the time. */
export interface Ends {
  inRow: number;
  /** By the monotonic clock. */
  notBefore: number;
  startedAt: number;
}

/** The programs of a cluster that this server runs. */
export interface ProcessPlane {
  app: App;
  parts: PlaneParts;
  place: ClusterPlace | undefined;
  /** The files that programs are started with now. */
  keysDir: string | undefined;
  kine: ProgramRecord | undefined;
  /** Those that requests go to, and those that are on their way out. */
  servers: RunningServer[];
  leaving: Set<Promise<void>>;
  controllers: Map<Kind, ProgramRecord>;
  ends: Map<string, Ends>;
  restarts: Map<Kind, number>;
  targets: Targets;
  forwarding: Forwarding;
  /** Whether it has, or had, a node: then it has a scheduler. */
  hasNodes: boolean;
  egress: { stop(): Promise<void> } | undefined;
  /** Where its programs are held apart; undefined: the server may not. */
  cgroup: Cgroup | undefined;
  /** How often the kernel ended somebody in it for memory, and whom. */
  memoryKills: number;
  memoryEnds: Map<Kind, { inAll: number; at: number }>;
  /** Why something has to be done; undefined: all is as it should be. */
  trouble: string | undefined;
  figures: { objects: number; bytes: number; components: Component[] };
  cpu: Map<number, { seconds: number; at: number }>;
  /** How often it was applied, and what is being applied now. */
  applies: number;
  applying: Promise<void> | undefined;
  /** Looks at the programs now instead of at the next look. */
  lookSoon: () => void;
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
