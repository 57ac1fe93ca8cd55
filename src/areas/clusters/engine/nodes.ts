import { X509Certificate } from 'node:crypto';
import type { Ask } from '../../../drivers/driver.ts';
import { lockSpace } from '../../../drivers/embedded/index.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { notFound, Refusal } from '../../../kernel/errors.ts';
import { hint, wake } from '../../../kernel/jobs/index.ts';
import type { Logger } from '../../../kernel/log.ts';
import { drainNode, findNode, listNodes, type NodeSummary, removeNode } from '../clients/tenant/nodes.ts';
import { listRequests, removeRequest, type SigningRequest } from '../clients/tenant/requests.ts';
import { isNodeSigner } from '../rules/requests.ts';
import type { ClusterRow } from '../store/clusters.ts';
import * as store from '../store/nodes.ts';
import { pkiOf } from '../store/pki.ts';
import { clustersDue, meshDue } from './channels.ts';
import { dismissNode } from './mesh/admit.ts';
import { fingerprintOf } from './pki.ts';
import type { TenantClusters } from './types.ts';

interface NodeCertificate extends store.IssuedCertificate {
  certificate: X509Certificate;
}

/** The node certificate in a signing request's status; undefined if there is none, or its subject is not a node. */
export function certificateOf({ spec, status }: SigningRequest): NodeCertificate | undefined {
  if (!isNodeSigner(spec.signerName) || !status?.certificate) return undefined;
  const certificate = readCertificate(status.certificate);
  // Undefined where the certificate has no subject, against Node's own types.
  const subject: string | undefined = certificate?.subject;
  const node = /^CN=system:node:(.+)$/m.exec(subject ?? '')?.[1];
  if (!certificate || node === undefined) return undefined;
  const requestedWith = /^X509SHA256=([0-9a-f]{64})$/.exec(spec.extra?.['authentication.kubernetes.io/credential-id']?.[0] ?? '')?.[1];
  return {
    certificate,
    node,
    fingerprint: fingerprintOf(certificate),
    expiresAt: certificate.validToDate.toISOString(),
    requestedWith,
  };
}

/** Records certificates that the cluster's authority signed. Administrators can write others into a status; the front refuses those anyway. */
export async function recordCertificates(tx: Tx, { org_id, id }: ClusterRow, certificates: readonly NodeCertificate[]): Promise<void> {
  const pki = certificates.length > 0 ? await pkiOf(tx, id) : undefined;
  if (!pki) return;
  hint(tx, org_id, 'clusters.node');
  wake(tx, meshDue(id)); // a node with a place in the mesh has its certificate now
  const { publicKey } = new X509Certificate(pki.ca_certificate);
  for (const each of certificates) if (each.certificate.verify(publicKey)) await store.insertCertificate(tx, org_id, id, each);
}

/** Undefined: the text is not a certificate; administrators can write anything there. */
function readCertificate(encoded: string): X509Certificate | undefined {
  try {
    const certificate = new X509Certificate(Buffer.from(encoded, 'base64'));
    return Number.isNaN(certificate.validToDate.getTime()) ? undefined : certificate;
  } catch {
    return undefined;
  }
}

/** Read from the cluster, by name. */
export const nodesOf = (tenants: TenantClusters, cluster: ClusterRow): Promise<NodeSummary[]> => tenants.with(cluster, listNodes);

const hasNodes = ({ endpoint, phase }: ClusterRow) => endpoint !== null && phase !== 'deleting';

/** The same; none while the cluster has no endpoint. */
export const nodesIfAny = async (tenants: TenantClusters, cluster: ClusterRow): Promise<NodeSummary[]> =>
  hasNodes(cluster) ? nodesOf(tenants, cluster) : [];

/** Timeout for callers that have a fallback. */
const shortTimeoutMs = 1_000;

/** The same for callers with a fallback: undefined if the cluster does not answer within a second. */
export async function nodesWithinShortTimeout(
  tenants: TenantClusters,
  cluster: ClusterRow,
  log: Logger,
): Promise<NodeSummary[] | undefined> {
  if (!hasNodes(cluster)) return [];
  try {
    return await tenants.with(cluster, listNodes, shortTimeoutMs);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    log.info({ err: error, cluster: cluster.id }, 'a cluster does not tell its nodes; its usage shows those last seen');
    return undefined;
  }
}

/** The signing requests of a node, with their certificates. */
async function requestsOfNode(ask: Ask, node: string) {
  const found = (await listRequests(ask)).map((request) => ({ name: request.metadata.name, certificate: certificateOf(request), request }));
  return found.filter(({ certificate, request }) => certificate?.node === node || request.spec.username === `system:node:${node}`);
}

/**
 * Removes a node from its cluster. `drain` is the transaction before its pods are evicted, from which on the operation has effects. `commit` is the
 * transaction that refuses its certificates. It comes before the removal: a removed node whose certificate is still accepted would register again.
 * After a crash in between the node is still listed, and a second deregistration completes it.
 */
export async function deregisterNode<T>(
  { tenants, log }: { tenants: TenantClusters; log: Logger },
  cluster: ClusterRow,
  name: string,
  { drain, commit }: { drain: () => Promise<unknown>; commit: (refuse: (tx: Tx) => Promise<void>) => Promise<T> },
): Promise<T> {
  return tenants.with(cluster, async (ask) => {
    const node = await findNode(ask, name);
    if (node) {
      await drain();
      await drainNode(ask, name).catch((error) => log.info({ err: error, cluster: cluster.id }, 'a node leaves without being drained'));
    }
    const requests = await requestsOfNode(ask, name);
    const done = await commit(async (tx) => {
      const certificates = requests.flatMap((request) => request.certificate ?? []);
      // A node that never registered, or whose Node object was deleted, may still have certificates.
      if (!(await refuseNode(tx, cluster, name, certificates)) && !node) notFound('node');
    });
    await removeNode(ask, name);
    for (const request of requests) await removeRequest(ask, request.name);
    return done;
  });
}

/** Refuses all certificates of the node with this commit: the recorded ones and those in its signing requests; its place in the mesh is free. False:
 *  it had none. */
async function refuseNode(tx: Tx, cluster: ClusterRow, node: string, certificates: readonly NodeCertificate[]): Promise<boolean> {
  // Writes of an embedded cluster check their certificate under this lock, so none commits after this transaction.
  await lockSpace(tx, cluster.id);
  await recordCertificates(tx, cluster, certificates);
  const refused = await store.refuseCertificates(tx, cluster.id, node);
  const isDismissed = await dismissNode(tx, cluster, node);
  wake(tx, clustersDue);
  return refused > 0 || isDismissed;
}
