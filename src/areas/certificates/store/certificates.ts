import Type, { type Static } from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';
import { sql } from '../../../kernel/sql.ts';

const nullable = <T extends Type.TSchema>(schema: T) => Type.Union([schema, Type.Null()]);
const Sealed = Type.Unsafe<Buffer>({});

const CertificateRow = Type.Object({
  name: Type.String(),
  org_id: nullable(Type.String()),
  version: Type.Integer(),
  issued_at: nullable(Type.String()),
  not_after: nullable(Type.String()),
  renew_at: nullable(Type.String()),
  step: Type.Union([Type.Literal('idle'), Type.Literal('ordered'), Type.Literal('proving'), Type.Literal('issuing')]),
  directory: nullable(Type.String()),
  order_url: nullable(Type.String()),
  next_key: nullable(Sealed),
  proof_type: nullable(Type.String()),
  failures: Type.Integer(),
  failed_proof: nullable(Type.String()),
  next_at: Type.String(),
  last_error: nullable(Type.String()),
  last_error_at: nullable(Type.String()),
  warned: Type.Integer(),
  created_at: Type.String(),
});
export type CertificateRow = Static<typeof CertificateRow>;

const columns = sql`name, org_id, version, issued_at, not_after, renew_at, step, directory, order_url, next_key, proof_type, failures, failed_proof,
  next_at, last_error, last_error_at, warned, created_at`;

/** Servers that listen read again what they present. */
export const changesChannel = 'qd_certificates';

const notify = (tx: Tx, name: string) => run(tx)`select pg_notify(${changesChannel}, ${name})`;

/** Hosts of the installation; they are there from the first start that names them. */
export const wantHosts = (tx: Tx, names: readonly string[]) => run(tx)`
  insert into certificates.certificate (name, next_at, created_at)
  select name, c.now, c.now from unnest(${names}::text[]) name, (select kernel.now() as now offset 0) c
  on conflict (name) do update set org_id = null where certificate.org_id is not null`;

/** The domain of an organization's page. A host of the installation stays one; one that was a host before is the organization's from now on. */
export const wantName = (tx: Tx, org: string, name: string, hosts: readonly string[]) => run(tx)`
  insert into certificates.certificate (name, org_id, next_at, created_at)
  select ${name}, ${org}, c.now, c.now from (select kernel.now() as now offset 0) c
  on conflict (name) do update set org_id = excluded.org_id
   where certificate.org_id is distinct from excluded.org_id and (certificate.org_id is not null or not (certificate.name = any(${hosts}::text[])))`;

/** Only a name of this organization; its key goes with it. */
export const deleteName = async (tx: Tx, org: string, name: string): Promise<void> => {
  if (await run(tx)`delete from certificates.certificate where name = ${name} and org_id = ${org}`) await notify(tx, name);
};

/** Hosts that no setting names any more, once their certificate has expired. */
export const deleteForgotten = (tx: Tx, hosts: readonly string[]) => run(tx)`
  delete from certificates.certificate
   where org_id is null and not (name = any(${hosts}::text[])) and coalesce(not_after, created_at + interval '30 days') < kernel.now()`;

export const listCertificates = (tx: Tx) => rows(tx, CertificateRow)`
  select ${columns} from certificates.certificate order by org_id nulls first, name limit 10000`;

export const findCertificate = (tx: Tx, name: string) => row(tx, CertificateRow)`
  select ${columns} from certificates.certificate where name = ${name}`;

export const certificatesNamed = (tx: Tx, names: readonly string[]) => rows(tx, CertificateRow)`
  select ${columns} from certificates.certificate where name = any(${names}::text[])`;

/**
 * Names to work on: without a certificate, due for renewal, or with an order under way; and not paused. Hosts of the installation come first,
 * then what expires first.
 */
export const listDue = (tx: Tx, hosts: readonly string[], limit: number) => rows(tx, CertificateRow)`
  select ${columns} from certificates.certificate
   where next_at <= kernel.now() and (chain is null or renew_at <= kernel.now() or step <> 'idle')
     and (org_id is not null or name = any(${hosts}::text[]))
   order by org_id nulls first, not_after nulls last, next_at, name limit ${limit}`;

const PresentedRow = Type.Object({ name: Type.String(), issued_at: Type.String() });

/** Every name with a certificate, and which one. */
export const listPresented = (tx: Tx) => rows(tx, PresentedRow)`
  select name, issued_at from certificates.certificate where chain is not null`;

const KeptRow = Type.Object({ chain: Type.String(), private_key: Sealed, issued_at: Type.String() });

export const findKept = (tx: Tx, name: string) => row(tx, KeptRow)`
  select chain, private_key, issued_at from certificates.certificate where name = ${name} and chain is not null`;

const ProofRow = Type.Object({ name: Type.String(), proof_type: Type.String(), proof_token: Type.String(), proof: Type.String() });
export type ProofRow = Static<typeof ProofRow>;

/** Proofs that an authority may look for now. */
export const listProofs = (tx: Tx) => rows(tx, ProofRow)`
  select name, proof_type, proof_token, proof from certificates.certificate where proof_token is not null`;

// A run changes only the version that it has read: a slower one of another process, or a name that was taken away, is left alone.

/** This run works on the name now. A run that ends without a trace lets others at it after this time. */
export const claimName = (tx: Tx, { name, version }: Pick<CertificateRow, 'name' | 'version'>, seconds: number) => row(tx, CertificateRow)`
  update certificates.certificate set next_at = kernel.now() + make_interval(secs => ${seconds}), version = version + 1
   where name = ${name} and version = ${version} returning ${columns}`;

export interface NewOrder {
  directory: string;
  orderUrl: string;
  nextKey: Buffer;
}

export const beginOrder = (tx: Tx, { name, version }: Pick<CertificateRow, 'name' | 'version'>, o: NewOrder) => row(tx, CertificateRow)`
  update certificates.certificate
     set step = 'ordered', directory = ${o.directory}, order_url = ${o.orderUrl}, next_key = ${o.nextKey}, proof_type = null, proof_token = null,
         proof = null, version = version + 1
   where name = ${name} and version = ${version} returning ${columns}`;

export interface OpenProof {
  type: string;
  token: string;
  proof: string;
}

export const openProof = async (tx: Tx, { name, version }: Pick<CertificateRow, 'name' | 'version'>, p: OpenProof) => {
  const changed = await row(tx, CertificateRow)`
    update certificates.certificate
       set step = 'proving', proof_type = ${p.type}, proof_token = ${p.token}, proof = ${p.proof}, version = version + 1
     where name = ${name} and version = ${version} returning ${columns}`;
  if (changed) await notify(tx, name);
  return changed;
};

/** The signing request has been sent, or is about to be: what was proven need not be shown any more. */
export const beginIssuing = async (tx: Tx, { name, version }: Pick<CertificateRow, 'name' | 'version'>) => {
  const changed = await row(tx, CertificateRow)`
    update certificates.certificate set step = 'issuing', proof_token = null, proof = null, version = version + 1
     where name = ${name} and version = ${version} returning ${columns}`;
  if (changed) await notify(tx, name);
  return changed;
};

export interface IssuedCertificate {
  chain: string;
  privateKey: Buffer;
  notAfter: string;
  renewAt: string;
}

export const keepIssued = async (tx: Tx, { name, version }: Pick<CertificateRow, 'name' | 'version'>, c: IssuedCertificate) => {
  const changed = await row(tx, CertificateRow)`
    update certificates.certificate
       set chain = ${c.chain}, private_key = ${c.privateKey}, issued_at = kernel.now(), not_after = ${c.notAfter}, renew_at = ${c.renewAt},
           step = 'idle', order_url = null, next_key = null, proof_type = null, proof_token = null, proof = null, failures = 0,
           failed_proof = null, last_error = null, last_error_at = null, warned = 0, next_at = kernel.now(), version = version + 1
     where name = ${name} and version = ${version} returning ${columns}`;
  if (changed) await notify(tx, name);
  return changed;
};

/** The order is given up, and nothing is tried until the pause is over. The certificate that there is stays. */
export const giveUpOrder = async (
  tx: Tx,
  { name, version }: Pick<CertificateRow, 'name' | 'version'>,
  f: { sentence: string; nextInSeconds: number; isFailure: boolean },
) => {
  const changed = await row(tx, CertificateRow)`
    update certificates.certificate
       set step = 'idle', order_url = null, next_key = null, failed_proof = coalesce(proof_type, failed_proof), proof_type = null,
           proof_token = null, proof = null, failures = failures + ${f.isFailure ? 1 : 0}, last_error = ${f.sentence}, last_error_at = c.now,
           next_at = c.now + make_interval(secs => ${f.nextInSeconds}), version = version + 1
      from (select kernel.now() as now offset 0) c
     where name = ${name} and version = ${version} returning ${columns}`;
  if (changed) await notify(tx, name);
  return changed;
};

/** The operator asks for one now. */
export const orderNow = (tx: Tx, name: string) => row(tx, CertificateRow)`
  update certificates.certificate
     set next_at = kernel.now(), renew_at = case when chain is null then null else kernel.now() end, failures = 0, version = version + 1
   where name = ${name} returning ${columns}`;

/** Of an account that is gone: its orders are too. */
export const dropOrders = (tx: Tx, directory: string) => run(tx)`
  update certificates.certificate
     set step = 'idle', order_url = null, next_key = null, proof_type = null, proof_token = null, proof = null,
         next_at = kernel.now(), version = version + 1
   where directory = ${directory} and step <> 'idle'`;

/** Certificates whose renewal is due, and hosts that have none. */
export const listLate = (tx: Tx, hosts: readonly string[]) => rows(tx, CertificateRow)`
  select ${columns} from certificates.certificate
   where (chain is not null and renew_at <= kernel.now() and (org_id is not null or name = any(${hosts}::text[])))
      or (chain is null and name = any(${hosts}::text[]) and warned = 0)
   order by not_after nulls first, name limit 1000`;

const FigureRow = Type.Object({ name: Type.String(), days_left: nullable(Type.Number()), failures: Type.Integer() });
export type Figure = Static<typeof FigureRow>;

export const listFigures = (tx: Tx) => rows(tx, FigureRow)`
  select name, (extract(epoch from not_after - kernel.now()) / 86400)::float8 as days_left, failures
    from certificates.certificate order by not_after nulls first, name limit 500`;

/** Beside a run that works on the name, so without its version. Undefined: it was written to already, or there is another certificate by now. */
export const countWarning = (tx: Tx, { name, issued_at }: Pick<CertificateRow, 'name' | 'issued_at'>, warned: number) => row(
  tx,
  CertificateRow,
)`
  update certificates.certificate set warned = ${warned}
   where name = ${name} and warned < ${warned} and issued_at is not distinct from ${issued_at}::timestamptz returning ${columns}`;
