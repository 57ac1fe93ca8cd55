import type { App } from '../../../kernel/app.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import type { Authority } from '../../../kernel/x509/issue.ts';
import type { Access, AccessHolder, UnreadLimiter } from '../../driver.ts';
import type { KubeObject } from '../rules/object.ts';
import type { CompiledRbac } from '../rules/rbac.ts';

/** The identity in a client certificate; absent for connections without one. */
export interface EmbeddedIdentity {
  commonName: string;
  organizations: string[];
  /** SHA-256 of the certificate, in lower case hex. */
  fingerprint: string;
}

export interface EmbeddedOptions {
  clusterId: string;
  org: string;
  /** The version that the cluster reports now: `v1.36.0+embedded`. */
  version: () => string;
  /** Signs approved certificate signing requests. */
  clientCa: Authority;
  /** ES256 or RS256; signs tokens of service accounts. */
  serviceAccount: { privateKeyPem: string; issuer: string; audience: string };
  /** Whether the certificate belongs to a deregistered node. */
  isRefused: (fingerprint: string) => boolean;
  /** The same, read from the database, for a write that is about to commit. */
  isRefusedNow?: (tx: Tx, fingerprint: string) => Promise<boolean>;
  /** For tokens bound to a Quarterdeck token: whether that token still gives access to the cluster. */
  access?: Access;
  certificateSeconds: number;
  /** The limit of concurrent requests. */
  inflight: () => number;
  /** Counts unread bytes of all clusters in this process. */
  unread: UnreadLimiter;
  /** The limit for the bytes of all objects, if it is below `limits.bytes`. */
  bytes?: () => number;
  /** Ends watches; absent: they end with the server. */
  ending?: AbortSignal | undefined;
}

/** An authenticated user. */
export interface User {
  name: string;
  uid?: string;
  groups: readonly string[];
  extra?: Record<string, string[]>;
  /** The Quarterdeck token behind the credential. */
  access?: AccessHolder;
  /** Objects whose deletion ends the credential: `secrets kube-system/bootstrap-token-abcdef`. */
  credentialObjects?: readonly string[];
}

export interface CachedObject {
  version: number;
  object: KubeObject;
}

/** The in-memory state of one embedded cluster. Everything else is in the database. */
export interface Cluster {
  app: App;
  options: EmbeddedOptions;
  id: string;
  org: string;
  /** The NOTIFY channel that is woken after each write. */
  channel: string;
  /** Roles and bindings, compiled at a version. */
  rbac: { version: number; compiled: CompiledRbac } | undefined;
  /** A load in progress; concurrent requests share it. */
  rbacLoading: { version: number; compiled: Promise<CompiledRbac> } | undefined;
  /** The roles and bindings of the last load, by key: only changed ones are read again. */
  rbacObjects: ReadonlyMap<string, CachedObject>;
  figures: { requests: number; errors: number; inflightPeak: number; objects: number; bytes: number };
  inFlight: number;
  /** Resolves when the previous write has ended. */
  lastWrite: Promise<void>;
  watches: number;
  /** By credential object: functions that end the watches opened with that credential. */
  watchesByCredential: Map<string, Set<() => void>>;
  /** Schedules the deletion of objects in terminating namespaces and of owned objects. */
  scheduleSweep: () => void;
  isStopped: boolean;
}

/** Limits of one cluster. Each is checked before the work that it limits. */
export const limits = {
  objects: 20_000,
  /** Of all objects together. */
  bytes: 268_435_456,
  /** Of one object; etcd's default. */
  objectBytes: 1_572_864,
  /** Fields and values of one object: each update reads, compares and writes all of them. */
  objectValues: 10_000,
  /** Of a request body, as in kube-apiserver. */
  bodyBytes: 3_145_728,
  bodyTimeoutMs: 30_000,
  /** Fields and values of a body. */
  bodyValues: 50_000,
  watches: 5_000,
  /** Bytes buffered for one watch before it is cut. */
  watchBufferBytes: 4_194_304,
  /** How long a response waits for a client that does not read. */
  unreadTimeoutMs: 30_000,
  /** Changes that the log keeps: how far back a watch may start. */
  keptChanges: 10_000,
  keptChangeBytes: 67_108_864,
  /** Rows and bytes of one statement of a list. */
  pageRows: 500,
  pageBytes: 2_097_152,
  /** Of each kind of role and binding: all of them are evaluated in memory. */
  rbacObjects: 2_000,
  rbacBytes: 1_048_576,
  /** Past these limits the oldest events are deleted. */
  events: 2_000,
  eventBytes: 8_388_608,
  /** Roles with an aggregation rule. */
  aggregatingRoles: 20,
};
