import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { App } from '../../../kernel/app.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import type { Binaries } from '../clients/process/binaries.ts';
import type { Ask } from '../clients/tenant/ask.ts';
import type { NodeHeartbeat } from '../clients/tenant/heartbeats.ts';
import { lifetimes } from '../rules/lifetimes.ts';
import { tierOf } from '../rules/tiers.ts';
import type { ClusterRow } from '../store/clusters.ts';
import { isCertificateRefused } from '../store/nodes.ts';
import { accessTo } from './access.ts';
import { openEmbedded, removeObjects } from './embedded/index.ts';
import type { Unread } from './embedded/unread.ts';
import type { Pki } from './pki.ts';
import { processDriver } from './process/index.ts';

/** How a connection proved who it is by a certificate of the cluster's authority. */
export interface CertificateIdentity {
  commonName: string;
  organizations: string[];
  /** SHA-256 of its DER, lower case hex. */
  fingerprint: string;
  /** Of the authority between our own programs, not of the cluster's. */
  isInternal?: boolean;
}

export interface Figures {
  requests: number;
  errors: number;
  inflightPeak: number;
  objects: number;
  bytes: number;
  /** Programs that are told apart. */
  components: { name: string; cpuMilli: number; memoryBytes: number; restarts: number; outOfMemory?: boolean }[];
}

/** Programs of one kind that a control plane is made of. */
export interface ProgramFigures {
  name: string;
  /** How many of them run; 0: one is missing. */
  up: number;
  restarts: number;
  /** As it was last measured. */
  memoryBytes: number;
  /** How often the kernel ended one for its memory, where the cluster has a cgroup of its own. */
  oomKills: number;
}

/** Makes sure that what others rely on is in the cluster. Safe to run again. */
export type Prepare = (ask: Ask) => Promise<void>;

/** A control plane in this process, whichever driver runs it. */
export interface ControlPlane {
  /** Brings it to the cluster's row and these keys; returns once it answers so. Safe to run again. `prepare` is run as soon as it can be asked. */
  apply(pki: Pki, prepare: Prepare): Promise<void>;
  /** Why `apply` is to be run again; `isAway`: it does not answer as it should meanwhile. */
  problem(): { why: string; isAway: boolean } | undefined;
  /** A sentence, if its store is full: it is degraded, and served all the same. */
  fullness?(): string | undefined;
  /** Whether it looks after silent nodes by itself. */
  hasControllers: boolean;
  /** Of its nodes; absent where the control plane looks after silent ones by itself. */
  heartbeats?(): Promise<NodeHeartbeat[]>;
  serve(request: IncomingMessage, response: ServerResponse, identity: CertificateIdentity | undefined): void;
  /** A connection that is to become something else than HTTP; absent: there is nothing else, and it is served as a request. */
  upgrade?(request: IncomingMessage, socket: Duplex, head: Buffer, identity: CertificateIdentity | undefined): void;
  // biome-ignore lint/suspicious/noExplicitAny: Kubernetes' objects, of many shapes
  ask(method: string, path: string, body?: unknown): Promise<{ status: number; body: any }>;
  // biome-ignore lint/suspicious/noExplicitAny: as above
  watch(path: string, onEvent: (event: { type: string; object: any }) => void): () => void;
  figures(): Figures;
  /** Asked for when somebody measures. */
  programs(): Promise<ProgramFigures[]>;
  stop(): Promise<void>;
}

/** What a control plane is made from. `cluster` is asked anew every time: its version and tier change while it runs. */
export interface PlaneOptions {
  cluster: () => ClusterRow;
  pki: Pki;
  endpoint: string;
  isRefused: (fingerprint: string) => boolean;
  binaries: Binaries;
  /** What callers in this process have not read yet, of all clusters. */
  unread: Unread;
  /** Under which this server serves it; none for one that only asks. */
  lease?: string;
}

export interface Driver {
  /** To serve it. It answers after its first `apply`. */
  open(app: App, parts: PlaneOptions): ControlPlane;
  /** Only to ask it, from a process that does not serve it. */
  openClient(app: App, parts: PlaneOptions): ControlPlane;
  /** Ends whatever runs for a cluster on this machine, also what a killed server left. */
  stopPrograms(app: App, cluster: string): Promise<void>;
  /** Its objects go with its row. */
  dropObjects(tx: Tx, cluster: string): Promise<void>;
  /** Its files go once its row is gone. */
  removeFiles(app: App, cluster: string): Promise<void>;
  /** Once, before the first cluster is claimed: what a killed server held here may be claimed at once. */
  recover(app: App): Promise<void>;
  /** Now and then: ends what is left here of clusters that are not this server's any more. `isHeld` is asked anew: it may take one up meanwhile. */
  sweep(app: App, isHeld: (cluster: string) => boolean): Promise<void>;
}

const openEmbeddedPlane: Driver['open'] = (app, { cluster, pki, endpoint, isRefused, unread }) => {
  const { id, org_id } = cluster();
  const plane = openEmbedded(app, {
    clusterId: id,
    org: org_id,
    version: () => cluster().version,
    clientCa: { certificate: pki.caCertificate, key: pki.caKey },
    serviceAccount: { privateKeyPem: pki.accountKey, issuer: endpoint, audience: endpoint },
    isRefused,
    access: accessTo(id),
    isRefusedNow: (tx, fingerprint) => isCertificateRefused(tx, id, fingerprint),
    unread,
    certificateSeconds: lifetimes.nodeCertificate,
    inflight: () => tierOf(cluster().tier).inflight,
    bytes: () => tierOf(cluster().tier).datastoreBytes,
  });
  // Whatever changes is read while requests are served.
  return {
    ...plane,
    apply: (_, prepare) => prepare(plane.ask),
    problem: () => undefined,
    hasControllers: false,
    programs: async () => [],
    figures: () => ({ ...plane.figures(), components: [] }),
  };
};

const noop = async () => {};

const embedded: Driver = {
  ...{ open: openEmbeddedPlane, openClient: openEmbeddedPlane, dropObjects: removeObjects },
  ...{ stopPrograms: noop, removeFiles: noop, recover: noop, sweep: noop },
};

/** By the name in a cluster's row. */
export const drivers: Readonly<Record<string, Driver>> = { embedded, process: processDriver };
