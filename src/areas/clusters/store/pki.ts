import Type, { type Static } from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';
import { sql } from '../../../kernel/sql.ts';

const Sealed = Type.Unsafe<Buffer>({});
const PkiRow = Type.Object({
  cluster_id: Type.String(),
  ca_certificate: Type.String(),
  ca_key: Sealed,
  serving_certificate: Type.String(),
  serving_key: Sealed,
  account_key: Sealed,
  inner_keys: Type.Union([Sealed, Type.Null()]),
  revision: Type.Integer(),
});
export type PkiRow = Static<typeof PkiRow>;
const columns = sql`cluster_id, ca_certificate, ca_key, serving_certificate, serving_key, account_key, inner_keys, revision`;

export const pkiOf = (tx: Tx, cluster: string) => row(tx, PkiRow)`select ${columns} from clusters.pki where cluster_id = ${cluster}`;

export interface NewPki {
  org: string;
  cluster: string;
  caCertificate: string;
  caKey: Buffer;
  servingCertificate: string;
  servingKey: Buffer;
  accountKey: Buffer;
  innerKeys: Buffer | null;
  caRenewSeconds: number;
  servingRenewSeconds: number;
}

/** A cluster's keys are created once: of two servers that create them, the first one wins. */
export const insertPki = (tx: Tx, p: NewPki) => run(tx)`
  insert into clusters.pki (org_id, cluster_id, ca_certificate, ca_key, ca_renew_at, serving_certificate, serving_key, serving_renew_at, account_key, inner_keys)
  select ${p.org}, ${p.cluster}, ${p.caCertificate}, ${p.caKey}, c.now + make_interval(secs => ${p.caRenewSeconds}), ${p.servingCertificate},
         ${p.servingKey}, c.now + make_interval(secs => ${p.servingRenewSeconds}), ${p.accountKey}, ${p.innerKeys}
    from (select kernel.now() as now offset 0) c
   where exists (select from clusters.cluster where id = ${p.cluster})
  on conflict (cluster_id) do nothing`;

const DueRow = Type.Object({ cluster_id: Type.String(), org_id: Type.String(), ca_due: Type.Boolean() });

/** Clusters whose certificates are due for renewal. */
export const dueForRenewal = (tx: Tx, limit: number) => rows(tx, DueRow)`
  select cluster_id, org_id, ca_renew_at <= kernel.now() as ca_due from clusters.pki
   where least(serving_renew_at, ca_renew_at) <= kernel.now() order by least(serving_renew_at, ca_renew_at) limit ${limit}`;

/** Updates no row if another server renewed the keys meanwhile. */
export const renewServing = (
  tx: Tx,
  cluster: string,
  revision: number,
  made: {
    certificate: string;
    key: Buffer;
    innerKeys: Buffer | null;
    renewSeconds: number;
    ca?: { certificate: string; renewSeconds: number };
  },
) => run(tx)`
  update clusters.pki
     set serving_certificate = ${made.certificate}, serving_key = ${made.key},
         serving_renew_at = kernel.now() + make_interval(secs => ${made.renewSeconds}), revision = revision + 1,
         inner_keys = coalesce(${made.innerKeys}, inner_keys),
         ca_certificate = coalesce(${made.ca?.certificate ?? null}, ca_certificate),
         ca_renew_at = coalesce(kernel.now() + make_interval(secs => ${made.ca?.renewSeconds ?? null}::int), ca_renew_at)
   where cluster_id = ${cluster} and revision = ${revision}`;
