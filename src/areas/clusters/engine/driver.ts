import type { IncomingMessage, ServerResponse } from 'node:http';
import type { App } from '../../../kernel/app.ts';
import { lifetimes } from '../rules/lifetimes.ts';
import { tierOf } from '../rules/tiers.ts';
import type { ClusterRow } from '../store/clusters.ts';
import { openEmbedded } from './embedded/index.ts';
import type { Pki } from './pki.ts';

/** How a connection proved who it is by a certificate of the cluster's authority. */
export interface CertificateIdentity {
  commonName: string;
  organizations: string[];
  /** SHA-256 of its DER, lower case hex. */
  fingerprint: string;
}

/** A control plane in this process, whichever driver runs it. */
export interface ControlPlane {
  serve(request: IncomingMessage, response: ServerResponse, identity: CertificateIdentity | undefined): void;
  // biome-ignore lint/suspicious/noExplicitAny: Kubernetes' objects, of many shapes
  ask(method: string, path: string, body?: unknown): Promise<{ status: number; body: any }>;
  // biome-ignore lint/suspicious/noExplicitAny: as above
  watch(path: string, onEvent: (event: { type: string; object: any }) => void): () => void;
  figures(): { requests: number; errors: number; inflightPeak: number; objects: number; bytes: number };
  stop(): Promise<void>;
}

/** What a control plane is made from. `cluster` is asked anew every time: its version and tier change while it runs. */
export interface PlaneParts {
  cluster: () => ClusterRow;
  pki: Pki;
  endpoint: string;
  isRefused: (fingerprint: string) => boolean;
}

export interface Driver {
  open(app: App, parts: PlaneParts): ControlPlane;
}

const embedded: Driver = {
  open: (app, { cluster, pki, endpoint, isRefused }) => {
    const { id, org_id } = cluster();
    return openEmbedded(app, {
      clusterId: id,
      org: org_id,
      version: () => cluster().version,
      clientCa: { certificatePem: pki.caCertificate, keyPem: pki.caKey },
      serviceAccount: { privateKeyPem: pki.accountKey, issuer: endpoint, audience: endpoint },
      isRefused,
      certificateSeconds: lifetimes.nodeCertificate,
      inflight: () => tierOf(cluster().tier).inflight,
      bytes: () => tierOf(cluster().tier).datastoreBytes,
    });
  },
};

/** By the name in a cluster's row. */
export const drivers: Readonly<Record<string, Driver>> = { embedded };
