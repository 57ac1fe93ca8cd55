import Type from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';

export interface IssuedCertificate {
  fingerprint: string;
  node: string;
  expiresAt: string;
  /** The fingerprint of the certificate that authenticated the request, if any. */
  requestedWith?: string | undefined;
}

/** Serializes writes for a node: a certificate recorded during its refusal is refused too. */
export const lockNode = (tx: Tx, cluster: string, node: string) =>
  run(tx)`select pg_advisory_xact_lock(hashtext('clusters.node_certificate'), hashtext(${`${cluster}/${node}`}))`;

/** Refused from the start if the requesting certificate is refused: a deregistered node cannot renew itself. */
export async function insertCertificate(
  tx: Tx,
  org: string,
  cluster: string,
  { fingerprint, node, expiresAt, requestedWith = '' }: IssuedCertificate,
) {
  await lockNode(tx, cluster, node);
  await run(tx)`
    insert into clusters.node_certificate (org_id, cluster_id, fingerprint, node, expires_at, refused_at)
    select ${org}, ${cluster}, ${fingerprint}, ${node}, ${expiresAt},
           (select refused_at from clusters.node_certificate where cluster_id = ${cluster} and fingerprint = ${requestedWith})
     where exists (select from clusters.cluster where id = ${cluster})
    on conflict do nothing`;
}

const CountRow = Type.Object({ of_node: Type.Integer(), of_cluster: Type.Integer() });

/** Valid certificates of a node, and recorded ones of the whole cluster, which include refused ones until they expire. */
export const countCertificates = async (tx: Tx, cluster: string, node: string) =>
  (await row(tx, CountRow)`
    select count(*)::int as of_cluster, (count(*) filter (where node = ${node} and refused_at is null))::int as of_node
      from clusters.node_certificate where cluster_id = ${cluster} and expires_at > kernel.now()`)!;

/** Refuses every recorded certificate of a node. */
export async function refuseCertificates(tx: Tx, cluster: string, node: string): Promise<number> {
  await lockNode(tx, cluster, node);
  return run(tx)`
    update clusters.node_certificate set refused_at = kernel.now() where cluster_id = ${cluster} and node = ${node} and refused_at is null`;
}

/** Whether this certificate is refused, as this transaction sees it. */
export const isCertificateRefused = async (tx: Tx, cluster: string, fingerprint: string): Promise<boolean> =>
  (await run(tx)`
    select 1 from clusters.node_certificate where cluster_id = ${cluster} and fingerprint = ${fingerprint} and refused_at is not null`) > 0;

const RefusedRow = Type.Object({ cluster_id: Type.String(), fingerprint: Type.String(), node: Type.String(), is_back: Type.Boolean() });

/** Refused certificates of these clusters, and whether their nodes have joined again since. */
export const refusedCertificates = (tx: Tx, clusters: readonly string[]) => rows(tx, RefusedRow)`
  select c.cluster_id, c.fingerprint, c.node, exists (
           select from clusters.node_certificate n where n.cluster_id = c.cluster_id and n.node = c.node and n.refused_at is null) as is_back
    from clusters.node_certificate c where c.cluster_id = any(${clusters}::text[]) and c.refused_at is not null`;

/** Expired certificates are refused by their date; one more day allows for clock skew. */
export const forgetExpired = (tx: Tx, limit: number) => run(tx)`
  delete from clusters.node_certificate where ctid = any(array(
    select ctid from clusters.node_certificate where expires_at < kernel.now() - interval '1 day' limit ${limit}))`;
