import type { App } from '../../../../kernel/app.ts';
import type { Tx } from '../../../../kernel/db/index.ts';
import type { Authority } from '../../../../kernel/x509/issue.ts';
import type { KubeObject } from '../../rules/kubernetes/object.ts';
import type { CompiledRbac } from '../../rules/kubernetes/rbac.ts';
import type { Unread } from './unread.ts';

/** How a connection proved itself by certificate; absent: it did not. */
export interface EmbeddedIdentity {
  commonName: string;
  organizations: string[];
  /** SHA-256 of the certificate, in lower case hex. */
  fingerprint: string;
}

export interface EmbeddedOptions {
  clusterId: string;
  org: string;
  /** As served now: `v1.36.0+embedded`. */
  version: () => string;
  /** Signs approved certificate signing requests. */
  clientCa: Authority;
  /** ES256 or RS256; signs tokens of service accounts. */
  serviceAccount: { privateKeyPem: string; issuer: string; audience: string };
  /** Whether a certificate is a deregistered node's. */
  isRefused: (fingerprint: string) => boolean;
  /** The same as the database says now, for a write that is about to commit. */
  isRefusedNow?: (tx: Tx, fingerprint: string) => Promise<boolean>;
  /** Of tokens that are bound to one of Quarterdeck's own: whether that one still gives access to the cluster. */
  access?: Access;
  certificateSeconds: number;
  /** How many requests may be under way at once. */
  inflight: () => number;
  /** What callers of all clusters in this process have not read yet. */
  unread: Unread;
  /** How many bytes all objects together may have, where it is less than what every cluster may. */
  bytes?: () => number;
}

/** The Quarterdeck token behind a client configuration, by what its rights hang on. That never changes, other than the rights. */
export interface AccessHolder {
  org: string;
  topics: readonly string[];
}

/** Tokens of client configurations are bound to a Secret, which stands for the Quarterdeck token that they were fetched with. */
export interface Access {
  isSecret(namespace: string, name: string): boolean;
  /** The Quarterdeck token behind this Secret. Undefined: it gives no access any more. */
  findHolder(tx: Tx, secret: string): Promise<AccessHolder | undefined>;
  /** The first statement of a transaction: until its end no right of the token's is taken away. `findHolder` is asked again behind it. */
  lock(tx: Tx, holder: AccessHolder): Promise<void>;
}

/** Who asks. */
export interface User {
  name: string;
  uid?: string;
  groups: readonly string[];
  extra?: Record<string, string[]>;
  /** The Quarterdeck token behind it. */
  access?: AccessHolder;
  /** Objects with which its credential ends: `secrets kube-system/bootstrap-token-abcdef`. */
  credentialObjects?: readonly string[];
}

export interface CachedObject {
  version: number;
  object: KubeObject;
}

/** What one embedded cluster holds in memory; everything else is in its rows. */
export interface Cluster {
  app: App;
  options: EmbeddedOptions;
  id: string;
  org: string;
  /** The channel that is woken after each write. */
  channel: string;
  /** Roles and bindings as of a version. */
  rbac: { version: number; compiled: CompiledRbac } | undefined;
  /** The same while it is read: whoever needs it meanwhile waits for that. */
  rbacLoading: { version: number; compiled: Promise<CompiledRbac> } | undefined;
  /** Roles and bindings as they were last read, by where they stand: only what changed is read again. */
  rbacObjects: ReadonlyMap<string, CachedObject>;
  figures: { requests: number; errors: number; inflightPeak: number; objects: number; bytes: number };
  inFlight: number;
  /** Resolves when the write before has ended. */
  lastWrite: Promise<void>;
  watches: number;
  /** By objects that credentials hang on: ends the watches of whoever showed one. */
  watchesByCredential: Map<string, Set<() => void>>;
  /** Asks for namespaces and owned objects to be cleared away. */
  scheduleSweep: () => void;
  isStopped: boolean;
}

/** What a cluster may hold and ask at once. Each is counted before the work that it limits. */
export const limits = {
  objects: 20_000,
  /** Of all objects together. */
  bytes: 268_435_456,
  /** Of one; etcd's own default. */
  objectBytes: 1_572_864,
  /** Fields and values of one: each change reads, compares and writes all of them. */
  objectValues: 10_000,
  /** Of a request's body, as kube-apiserver's. */
  bodyBytes: 3_145_728,
  bodyTimeoutMs: 30_000,
  /** Fields and values of a body. */
  bodyValues: 50_000,
  watches: 5_000,
  /** What a watch may lag behind before it is cut. */
  watchBufferBytes: 4_194_304,
  /** For so long whoever does not read its answer is waited for. */
  unreadTimeoutMs: 30_000,
  /** How far back a watch may begin. */
  keptChanges: 10_000,
  keptChangeBytes: 67_108_864,
  /** One statement's share of a list. */
  pageRows: 500,
  pageBytes: 2_097_152,
  /** Of each kind of role and binding: all of them are weighed in memory. */
  rbacObjects: 2_000,
  rbacBytes: 1_048_576,
  /** The oldest events make room for new ones. */
  events: 2_000,
  eventBytes: 8_388_608,
  /** Roles that add up others. */
  aggregatingRoles: 20,
};
