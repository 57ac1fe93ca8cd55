import { X509Certificate } from 'node:crypto';
import type { Tx } from '../../../kernel/db/index.ts';
import { notFound, Refusal } from '../../../kernel/errors.ts';
import { wake } from '../../../kernel/jobs/index.ts';
import type { Logger } from '../../../kernel/log.ts';
import type { Ask } from '../clients/tenant/ask.ts';
import { drainNode, findNode, listNodes, type NodeSummary, removeNode } from '../clients/tenant/nodes.ts';
import { listRequests, removeRequest, type SigningRequest } from '../clients/tenant/requests.ts';
import { isNodeSigner } from '../rules/requests.ts';
import type { ClusterRow } from '../store/clusters.ts';
import * as store from '../store/nodes.ts';
import { lockSpace } from '../store/objects.ts';
import { pkiOf } from '../store/pki.ts';
import { clustersDue } from './channels.ts';
import { fingerprintOf } from './pki.ts';
import type { TenantClusters } from './tenant-clusters.ts';

interface NodeCertificate extends store.IssuedCertificate {
  certificate: X509Certificate;
}

/** The certificate that a request shows for a node; undefined if it shows none, or it is no node's. */
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

/** Notes those that the cluster's authority signed: its administrators may show us any number of others, which no front lets in anyway. */
export async function recordCertificates(tx: Tx, { org_id, id }: ClusterRow, shown: readonly NodeCertificate[]): Promise<void> {
  const pki = shown.length > 0 ? await pkiOf(tx, id) : undefined;
  if (!pki) return;
  const { publicKey } = new X509Certificate(pki.ca_certificate);
  for (const each of shown) if (each.certificate.verify(publicKey)) await store.insertCertificate(tx, org_id, id, each);
}

/** Undefined: an administrator wrote something else there. */
function readCertificate(encoded: string): X509Certificate | undefined {
  try {
    const certificate = new X509Certificate(Buffer.from(encoded, 'base64'));
    return Number.isNaN(certificate.validToDate.getTime()) ? undefined : certificate;
  } catch {
    return undefined;
  }
}

/** Live, by name. */
export const nodesOf = (tenants: TenantClusters, cluster: ClusterRow): Promise<NodeSummary[]> => tenants.with(cluster, listNodes);

const hasNodes = ({ endpoint, phase }: ClusterRow) => endpoint !== null && phase !== 'deleting';

/** The same; none while the cluster has no endpoint. */
export const nodesIfAny = async (tenants: TenantClusters, cluster: ClusterRow): Promise<NodeSummary[]> =>
  hasNodes(cluster) ? nodesOf(tenants, cluster) : [];

/** How long whoever can do without them waits. */
const shortTimeoutMs = 1_000;

/** The same, for whoever can do without them: undefined if the cluster does not tell them soon. */
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

/** The requests of a node, with the certificates that they brought it. */
async function requestsOfNode(ask: Ask, node: string) {
  const found = (await listRequests(ask)).map((request) => ({ name: request.metadata.name, shown: certificateOf(request), request }));
  return found.filter(({ shown, request }) => shown?.node === node || request.spec.username === `system:node:${node}`);
}

/**
 * Takes a node out of its cluster. `drain` is the transaction before its pods are asked to leave: from then on something has happened. `commit` is the transaction in which its certificates end; they end first, for a node that is removed and
 * still believed would make itself anew. After a crash in between the node is still listed, and deregistering it again ends the matter.
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
      const shown = requests.flatMap((request) => request.shown ?? []);
      // One that never showed itself, or whose Node somebody deleted, may have certificates all the same.
      if ((await refuseNode(tx, cluster, name, shown)) === 0 && !node) notFound('node');
    });
    await removeNode(ask, name);
    for (const request of requests) await removeRequest(ask, request.name);
    return done;
  });
}

/** From this commit on, none of the node's certificates is good: not those that are noted, nor those that its requests still show. */
async function refuseNode(tx: Tx, cluster: ClusterRow, node: string, shown: readonly NodeCertificate[]): Promise<number> {
  // Writes of an embedded cluster look at their certificate behind this lock: none commits after this one.
  await lockSpace(tx, cluster.id);
  await recordCertificates(tx, cluster, shown);
  const refused = await store.refuseCertificates(tx, cluster.id, node);
  wake(tx, clustersDue);
  return refused;
}
