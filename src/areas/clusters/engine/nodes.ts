import { X509Certificate } from 'node:crypto';
import type { Tx } from '../../../kernel/db/index.ts';
import { notFound } from '../../../kernel/errors.ts';
import { wake } from '../../../kernel/jobs/index.ts';
import type { Logger } from '../../../kernel/log.ts';
import type { Ask } from '../clients/tenant/ask.ts';
import { drainNode, findNode, listNodes, type NodeSeen, removeNode } from '../clients/tenant/nodes.ts';
import { listRequests, type RequestObject, removeRequest } from '../clients/tenant/requests.ts';
import { isNodeClient } from '../rules/requests.ts';
import type { ClusterRow } from '../store/clusters.ts';
import * as store from '../store/nodes.ts';
import { clustersDue } from './channels.ts';
import { fingerprintOf } from './pki.ts';
import type { Tenants } from './tenants.ts';

/** The certificate that a request brought a node; undefined if it brought none, or it is no node's. */
export function issuedBy({ spec, status }: RequestObject): store.Issued | undefined {
  if (!isNodeClient(spec.signerName) || !status?.certificate) return undefined;
  const certificate = new X509Certificate(Buffer.from(status.certificate, 'base64'));
  const node = /^CN=system:node:(.+)$/m.exec(certificate.subject)?.[1];
  return node === undefined
    ? undefined
    : { node, fingerprint: fingerprintOf(certificate), expiresAt: certificate.validToDate.toISOString() };
}

/** Live, by name. */
export const nodesOf = (tenants: Tenants, cluster: ClusterRow): Promise<NodeSeen[]> => tenants.with(cluster, listNodes);

/** The same; none while the cluster has no endpoint. */
export const nodesIfAny = (tenants: Tenants, cluster: ClusterRow): Promise<NodeSeen[]> =>
  cluster.endpoint === null || cluster.phase === 'deleting' ? Promise.resolve([]) : nodesOf(tenants, cluster);

/** The requests of a node, with the certificates that they brought it. */
async function requestsOfNode(ask: Ask, node: string) {
  const found = (await listRequests(ask)).map((request) => ({ name: request.metadata.name, issued: issuedBy(request), request }));
  return found.filter(({ issued, request }) => issued?.node === node || request.spec.username === `system:node:${node}`);
}

/**
 * Takes a node out of its cluster. `commit` is the transaction in which its certificates end; they end first, for a node that is removed and
 * still believed would make itself anew. After a crash in between the node is still listed, and deregistering it again ends the matter.
 */
export async function deregisterNode<T>(
  { tenants, log }: { tenants: Tenants; log: Logger },
  cluster: ClusterRow,
  name: string,
  commit: (refuse: (tx: Tx) => Promise<void>) => Promise<T>,
): Promise<T> {
  return tenants.with(cluster, async (ask) => {
    const node = (await findNode(ask, name)) ?? notFound('node');
    await drainNode(ask, node.name).catch((error) => log.info({ err: error, cluster: cluster.id }, 'a node leaves without being drained'));
    const requests = await requestsOfNode(ask, node.name);
    const done = await commit((tx) =>
      refuseNode(
        tx,
        cluster,
        node.name,
        requests.flatMap(({ issued }) => issued ?? []),
      ),
    );
    await removeNode(ask, node.name);
    for (const request of requests) await removeRequest(ask, request.name);
    return done;
  });
}

/** From this commit on, none of the node's certificates is good: not those that are noted, nor those that its requests still show. */
async function refuseNode(tx: Tx, cluster: ClusterRow, node: string, issued: readonly store.Issued[]): Promise<void> {
  for (const each of issued) await store.insertCertificate(tx, cluster.org_id, cluster.id, each);
  await store.refuseCertificates(tx, cluster.id, node);
  wake(tx, clustersDue);
}
