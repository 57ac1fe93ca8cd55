import type { App } from '../../../kernel/app.ts';
import type { Ask, HoldRequest, PlaneOptions } from '../../driver.ts';
import type { Dial } from '../clients/ask.ts';
import type { Cgroup } from '../clients/cgroup.ts';
import type { Target } from '../clients/dial.ts';
import type { ClusterDirectory } from '../clients/directory.ts';
import type { ProgramRecord } from '../clients/programs.ts';
import type { ProgramKind } from '../rules/programs.ts';
import type { Capacity } from './capacity.ts';
import type { RunningEtcd, RunningMember } from './etcd/state.ts';
import type { RequestGate } from './request-gate.ts';
import type { TargetPool } from './target-pool.ts';

/** A running apiserver, and how requests reach it. */
export interface RunningApiserver {
  record: ProgramRecord;
  target: Target;
  /** Consecutive probes without any answer, and consecutive probes that it answered with not ready. */
  unansweredProbes: number;
  unreadyProbes: number;
}

/** Delays restarts of a program that keeps exiting. */
export interface RestartBackoff {
  consecutiveExits: number;
  /** Times are of the monotonic clock. */
  retryAt: number;
  startedAt: number;
}

/** What forwarding a request needs to know of its cluster. */
export interface ForwardContext {
  pool: TargetPool;
  maxInflight: () => number;
  isRefused: (fingerprint: string) => boolean;
  figures: { requests: number; errors: number; inflightPeak: number };
  /** Aborted when the server ends. */
  ending: AbortSignal;
  /** What the cluster's store may still take. */
  capacity: Capacity;
  /** Holds requests back while the store cannot answer. */
  gate?: RequestGate;
  /** Requests in flight that count against the tier. */
  inflight: number;
  /** For requests while no apiserver is usable. */
  hold?: HoldRequest | undefined;
}

/** The programs of a cluster that this server runs. */
export interface ProcessPlane {
  app: App;
  parts: PlaneOptions;
  directory: ClusterDirectory | undefined;
  /** The key files that programs are started with now. */
  keysDir: string | undefined;
  kine: ProgramRecord | undefined;
  /** The generation of its store that requests reach; undefined: none yet. */
  servedGeneration: number | undefined;
  /** The members of its etcd, and generations that are being replaced. */
  etcd: RunningEtcd | undefined;
  formerEtcds: RunningEtcd[];
  /** A member that ended is being started again. */
  reviving: Promise<void> | undefined;
  memberEnded(member: RunningMember): void;
  /** Nothing changes the store from here on until the apply is over. */
  freeze(): Promise<void>;
  unfreeze(): void;
  gate: RequestGate;
  /** Apiservers that get requests, and the stops of those that are draining. */
  servers: RunningApiserver[];
  draining: Set<Promise<void>>;
  controllers: Map<ProgramKind, ProgramRecord>;
  backoffs: Map<string, RestartBackoff>;
  restarts: Map<ProgramKind, number>;
  pool: TargetPool;
  forwarding: ForwardContext;
  /** Whether the cluster has, or had, a node, and so a scheduler. */
  hasNodes: boolean;
  egress: { stop(): Promise<void> } | undefined;
  /** Undefined: the server may not create cgroups. */
  cgroup: Cgroup | undefined;
  /** OOM kills of the cgroup as last read, and per program. */
  oomKillCount: number;
  oomKills: Map<ProgramKind, { total: number; at: number }>;
  /** Why `apply` has to run again; undefined: all programs run as wanted. */
  problem: string | undefined;
  figures: { objects: number; bytes: number; components: Component[] };
  cpu: Map<number, { seconds: number; at: number }>;
  /** Finished applies, and the one that is running. */
  applyCount: number;
  applying: Promise<void> | undefined;
  /** Starts the next health check at once. */
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
  /** The kernel killed it within the last 15 minutes, because the cluster's programs together exceeded their memory limit. */
  outOfMemory: boolean;
}
