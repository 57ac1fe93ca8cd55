import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { App } from '../../../kernel/app.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import type { Binaries } from '../clients/process/binaries.ts';
import type { Ask } from '../clients/tenant/ask.ts';
import type { NodeHeartbeat } from '../clients/tenant/heartbeats.ts';
import type { ClusterRow } from '../store/clusters.ts';
import type { UnreadLimiter } from './embedded/unread-bytes.ts';
import type { Pki } from './pki.ts';

// What the drivers and their users share. The types are apart from `driver.ts`, which imports every driver.

/** The identity in a client certificate of the cluster's authority. */
export interface CertificateIdentity {
  commonName: string;
  organizations: string[];
  /** SHA-256 of its DER, lower case hex. */
  fingerprint: string;
  /** Signed by the internal authority of Quarterdeck's own programs, not by the cluster's. */
  isInternal?: boolean;
}

export interface Figures {
  requests: number;
  errors: number;
  inflightPeak: number;
  objects: number;
  bytes: number;
  /** Usage per program, where programs are separate processes. */
  components: { name: string; cpuMilli: number; memoryBytes: number; restarts: number; outOfMemory?: boolean }[];
}

/** The programs of one kind in a control plane. */
export interface ProgramFigures {
  name: string;
  /** How many of them run. */
  up: number;
  restarts: number;
  /** As last measured. */
  memoryBytes: number;
  /** How often the kernel killed one for its memory; 0 without a cgroup. */
  oomKills: number;
}

/** Creates the objects that kubeadm and nodes rely on. Safe to run again. */
export type Prepare = (ask: Ask) => Promise<void>;

/** A control plane in this process, whichever driver runs it. */
export interface ControlPlane {
  /** Applies the cluster's row and these keys; returns once the plane answers with them. Safe to run again. `prepare` runs as soon as possible. */
  apply(pki: Pki, prepare: Prepare): Promise<void>;
  /** Why `apply` has to run again; `isAway`: until then the plane does not answer as it should. */
  problem(): { why: string; isAway: boolean } | undefined;
  /** A sentence if its store is full: the cluster is degraded, and still served. */
  fullness?(): string | undefined;
  /** Whether it marks silent nodes as not ready by itself. */
  hasControllers: boolean;
  /** Heartbeats of its nodes; absent where the control plane marks silent ones by itself. */
  heartbeats?(): Promise<NodeHeartbeat[]>;
  serve(request: IncomingMessage, response: ServerResponse, identity: CertificateIdentity | undefined): void;
  /** An HTTP upgrade; absent: upgrades are served as plain requests. */
  upgrade?(request: IncomingMessage, socket: Duplex, head: Buffer, identity: CertificateIdentity | undefined): void;
  // biome-ignore lint/suspicious/noExplicitAny: Kubernetes' objects, of many shapes
  ask(method: string, path: string, body?: unknown): Promise<{ status: number; body: any }>;
  // biome-ignore lint/suspicious/noExplicitAny: as above
  watch(path: string, onEvent: (event: { type: string; object: any }) => void): () => void;
  figures(): Figures;
  /** Read at each scrape of the metrics. */
  programs(): Promise<ProgramFigures[]>;
  stop(): Promise<void>;
}

/** `cluster` is a function because version and tier change while the plane runs. */
export interface PlaneOptions {
  cluster: () => ClusterRow;
  pki: Pki;
  endpoint: string;
  isRefused: (fingerprint: string) => boolean;
  binaries: Binaries;
  /** Bytes that callers have not read yet, over all clusters of this process. */
  unread: UnreadLimiter;
  /** The lease under which this server serves it; none for a client. */
  lease?: string;
}

export interface Driver {
  /** Opens the plane to serve it. It answers after its first `apply`. */
  open(app: App, parts: PlaneOptions): ControlPlane;
  /** Opens a client, in a process that does not serve the cluster. */
  openClient(app: App, parts: PlaneOptions): ControlPlane;
  /** Stops every program of a cluster on this machine, also those that a killed server left. */
  stopPrograms(app: App, cluster: string): Promise<void>;
  /** Drops its objects, in the transaction that deletes its row. */
  dropObjects(tx: Tx, cluster: string): Promise<void>;
  /** Removes its files once its row is deleted. */
  removeFiles(app: App, cluster: string): Promise<void>;
  /** Once, before the first claim: releases leases of a server that was killed on this machine. */
  recover(app: App): Promise<void>;
  /** Periodically: stops programs of clusters that this server no longer holds. `isHeld` is read again before each stop: a claim may come meanwhile. */
  sweep(app: App, isHeld: (cluster: string) => boolean): Promise<void>;
}

/** Access to the APIs of all clusters, served here or by another process. */
export interface TenantClusters {
  /** Whether the cluster is served here, or another server holds its lease. */
  isReachable(cluster: ClusterRow): boolean;
  /** Runs `work` with the cluster's API. 409 before it has an endpoint; 502 when no shard holds it, or it does not answer in time. */
  with<T>(cluster: ClusterRow, work: (ask: Ask) => Promise<T>, withinMs?: number): Promise<T>;
  /** Registers a plane that this process serves, until `forget`. */
  serve(id: string, plane: ControlPlane): void;
  forget(id: string): void;
  stop(): Promise<void>;
}
