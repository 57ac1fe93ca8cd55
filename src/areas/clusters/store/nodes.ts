import Type from 'typebox';
import { rows, run, type Tx } from '../../../kernel/db/index.ts';

export interface Issued {
  fingerprint: string;
  node: string;
  expiresAt: string;
}

export const insertCertificate = (tx: Tx, org: string, cluster: string, { fingerprint, node, expiresAt }: Issued) => run(tx)`
  insert into clusters.node_certificate (org_id, cluster_id, fingerprint, node, expires_at)
  select ${org}, ${cluster}, ${fingerprint}, ${node}, ${expiresAt} where exists (select from clusters.cluster where id = ${cluster})
  on conflict do nothing`;

/** Every certificate that this node was given is refused from now on. */
export const refuseCertificates = (tx: Tx, cluster: string, node: string) => run(tx)`
  update clusters.node_certificate set refused_at = kernel.now() where cluster_id = ${cluster} and node = ${node} and refused_at is null`;

const RefusedRow = Type.Object({ cluster_id: Type.String(), fingerprint: Type.String(), node: Type.String(), is_back: Type.Boolean() });

/** Those that these clusters must refuse, and whether their nodes have joined anew since. */
export const refusedCertificates = (tx: Tx, clusters: readonly string[]) => rows(tx, RefusedRow)`
  select c.cluster_id, c.fingerprint, c.node, exists (
           select from clusters.node_certificate n where n.cluster_id = c.cluster_id and n.node = c.node and n.refused_at is null) as is_back
    from clusters.node_certificate c where c.cluster_id = any(${clusters}::text[]) and c.refused_at is not null`;

/** Expired ones are refused by their date; a day more allows for clocks that differ. */
export const forgetExpired = (tx: Tx, limit: number) => run(tx)`
  delete from clusters.node_certificate where ctid = any(array(
    select ctid from clusters.node_certificate where expires_at < kernel.now() - interval '1 day' limit ${limit}))`;
