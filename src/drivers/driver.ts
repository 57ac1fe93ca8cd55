import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex, Readable, Writable } from 'node:stream';
import type { App } from '../kernel/app.ts';
import type { Tx } from '../kernel/db/index.ts';
import type { Guard } from '../kernel/guard/index.ts';
import type { Pki } from './keys.ts';

// The interface between the clusters area and the drivers that run control planes. A driver knows no area: everything that it needs of a cluster
// is handed over in these types.

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

/** A response of a cluster's API. */
export interface ApiResponse {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: Kubernetes' objects, of many shapes
  body: any;
  /** Its length, where it was read from a connection. */
  bytes?: number;
}

/** Calls a cluster's API as its administrator, whichever driver runs it. */
export type Ask = (method: string, path: string, body?: unknown) => Promise<ApiResponse>;

/** A node's heartbeat fields, as its cluster stores them. */
export interface NodeHeartbeat {
  name: string;
  /** Status and time of the Ready condition. */
  ready: string | null;
  heartbeat: string | null;
  /** The lease's renewTime. */
  renewed: string | null;
}

/** Creates the objects that kubeadm and nodes rely on. Safe to run again. */
export type Prepare = (ask: Ask) => Promise<void>;

/** What keeps a cluster's objects. */
export type StoreKind = 'kine' | 'etcd';

/** A copy of a cluster's store at one moment. */
export interface StoreSnapshot {
  kind: StoreKind;
  /** etcd: read just before; the copy may hold newer ones. */
  revision: number;
  /** Objects at that revision. */
  objects: number;
  /** etcd: a file of etcd's own, its SHA-256 at the end. Destroyed by a reader that gives up. */
  content: Readable;
}

/** What a generation of a store is made of; its revisions are above `revision`, so that clients list again. `rows`: of a kine, for a kine.
 *  `bytes`: undefined of a backup that an earlier release made. */
export type StoreContent =
  | { kind: 'rows'; content: AsyncIterable<Uint8Array>; bytes: number | undefined; revision: number }
  | { kind: 'snapshot'; content: Readable; bytes: number | undefined; revision: number }
  | { kind: 'keys'; keys: AsyncIterable<{ key: Buffer; value: Buffer }>; revision: number };

export interface StoreOrigin {
  /** No request changes the store from before `read` until the new generation answers. */
  freezes: boolean;
  read(): Promise<StoreContent>;
}

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
  /** Copies its store at one moment. Absent: it has none that can be copied. */
  snapshot?(): Promise<StoreSnapshot>;
  /** Read at each scrape of the metrics. */
  programs(): Promise<ProgramFigures[]>;
  stop(): Promise<void>;
  /** Stops serving; the programs run on for the next server of this data directory. Absent: as `stop`. */
  leave?(): Promise<void>;
}

/** The part of a cluster's row that drivers read. */
export interface DrivenCluster {
  id: string;
  org_id: string;
  version: string;
  tier: string;
  replicas: number;
  store: StoreKind;
  /** Which copy of its store is wanted. */
  store_generation: number;
  /** As asked for; absent fields of a dedicated one have their defaults. */
  datastore: { mode: string; size?: string; storageGiB?: number; replicas?: number };
  /** 0: it was never ready. */
  observed_generation: number;
}

/** Address ranges inside a cluster. */
export interface ClusterNetwork {
  services: string;
  pods: string;
}

/** Kubernetes' own programs on this machine. */
export interface Binaries {
  dir: string;
  kine: string;
  /** Undefined: etcd is not installed. */
  etcd(): Promise<EtcdPrograms | undefined>;
  /** Complete versions, cached for a second. */
  list(): Promise<readonly InstalledVersion[]>;
  /** The version's folder; undefined: it is not installed. */
  find(version: string): Promise<string | undefined>;
}

export interface EtcdPrograms {
  etcd: string;
  etcdutl: string;
}

export interface InstalledVersion {
  version: string;
  /** The folder of its programs. */
  dir: string;
}

/** Limits the bytes that are buffered for clients until they read them. */
export interface UnreadLimiter {
  /** Opens an account for one client; `cut` ends its connection. */
  open(of: { org: string; cluster: string }, cut: () => void): UnreadAccount;
  bytes(): number;
}

export interface UnreadAccount {
  /** Counts bytes that are buffered from now on. */
  add(bytes: number): void;
  /** The client has read them. */
  subtract(bytes: number): void;
  close(): void;
}

/**
 * The Quarterdeck token behind a client configuration, named by the topics of its permissions. The topics never change; the permissions do.
 */
export interface AccessHolder {
  org: string;
  topics: readonly string[];
}

/** Tokens in client configurations are bound to a Secret. The Secret stands for the Quarterdeck token that fetched the configuration. */
export interface Access {
  isSecret(namespace: string, name: string): boolean;
  /** The Quarterdeck token behind this Secret. Undefined: it no longer gives access. */
  findHolder(tx: Tx, secret: string): Promise<AccessHolder | undefined>;
  /**
   * The first statement of a transaction. Until the transaction ends, no permission of the token is revoked; `findHolder` is called again
   * after it.
   */
  lock(tx: Tx, holder: AccessHolder): Promise<void>;
}

/**
 * Lets a request wait for some seconds until `isOpen`, for a cluster that cannot take it at the moment. `caller` is its response, or its connection.
 * False: there is no room for it, its time is over, or the caller has left.
 */
export type HoldRequest = (request: IncomingMessage, caller: Writable, isOpen: () => boolean) => Promise<boolean>;

/** `cluster` and `limits` are functions because version and tier change while the plane runs. */
export interface PlaneOptions {
  cluster: () => DrivenCluster;
  /** Of the cluster's tier: concurrent requests, and the total size of its objects. */
  limits: () => { inflight: number; datastoreBytes: number };
  pki: Pki;
  endpoint: string;
  network: ClusterNetwork;
  nodeCertificateSeconds: number;
  /** Whether the certificate belongs to a deregistered node, as last read. */
  isRefused: (fingerprint: string) => boolean;
  /** The same, read from the database, for a write that is about to commit. */
  isRefusedNow: (tx: Tx, fingerprint: string) => Promise<boolean>;
  access: Access;
  binaries: Binaries;
  /** What this generation of its store has to be made of; undefined: of nothing. */
  storeOrigin?: (generation: number) => Promise<StoreOrigin | undefined>;
  /** Called before the first request reaches this generation. Throws if it must not: the one before it serves on. */
  beforeStoreSwitch?: (generation: number) => Promise<void>;
  /** By which its programs reach a host outside: the guard of its mesh for addresses in there, else the server's. Absent for a client. */
  nodeGuard?: (host: string) => Guard;
  /** Bytes that callers have not read yet, over all clusters of this process. */
  unread: UnreadLimiter;
  /** The lease under which this server serves it; none for a client. */
  lease?: string;
  /** For requests that no program can take at the moment; absent: they are refused at once. */
  hold?: HoldRequest;
  /** Aborted when this server serves the cluster no longer: watches end as if their time was over. Absent: they end with the server. */
  ending?: AbortSignal;
  /** Wakes the shard: the plane has a `problem`. */
  wakeShard: () => void;
}

/** The leases of clusters, which the shards of the clusters area hold. */
export interface ClusterLeases {
  /** The leases of these clusters; deleted clusters are missing. */
  find(tx: Tx, clusters: readonly string[]): Promise<{ id: string; lease: string | null; is_held: boolean }[]>;
  /** Releases leases, so that another server need not wait for their expiry. */
  release(tx: Tx, leases: readonly string[]): Promise<unknown>;
}

/** A copy of a cluster's store, from a backup. */
export interface StoreCopy {
  kind: StoreKind;
  revision: number;
  /** Undefined: an earlier release made it. */
  bytes: number | undefined;
  content: AsyncIterable<Uint8Array>;
}

/** How many objects a copy was restored to, how many of them its control plane should list, and how many it lists. */
export interface CopyCount {
  stored: number;
  expected: number;
  listed: number;
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
  recover(app: App, leases: ClusterLeases): Promise<void>;
  /** Restores a copy into a control plane of its own, counts what that lists, and removes it again. Throws NoRoom where the disk lacks room. */
  checkCopy?(app: App, parts: PlaneOptions, copy: StoreCopy, signal: AbortSignal): Promise<CopyCount>;
  /** Periodically: stops programs of clusters that this server no longer holds. `isHeld` is read again before each stop: a claim may come meanwhile. */
  sweep(app: App, leases: ClusterLeases, isHeld: (cluster: string) => boolean): Promise<void>;
}
