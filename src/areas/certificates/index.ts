/**
 * Certificates: ordered and renewed by ACME (RFC 8555), presented by every listener. docs/areas/certificates.md has the operator's view and the
 * crash table.
 *
 * Actors. The operator sets QUARTERDECK_ACME. The hosts of the settings, and domains of status pages that lead here, are the names. One task, in
 * one process at a time, orders. Every process presents (kernel/tls), and answers the authority's proofs.
 *
 * Flow: a row is wanted → `engine/keep-certificates.ts` finds it due, within our limits (rules/limits.ts), with an address in the DNS →
 * `engine/obtain.ts` walks the order, each step stored before its request → clients/acme → the chain is checked (rules/check-chain.ts) and kept,
 * its key sealed → NOTIFY → `engine/presenter.ts` of each process has it in the next handshake.
 *
 * States of a row: idle → ordered → proving → issuing → idle. The certificate that it has stays presented meanwhile, and after a failure.
 *
 * What survives a crash: the account's key, the order, its key and its proof are rows; the next run asks the authority where the order stands.
 */
import { defineArea } from '../area.ts';
import { openCertificates } from './open.ts';
import { tasks } from './tasks.ts';

export type { CertificateOverview } from './engine/operator.ts';
export * as certificateAdmin from './engine/operator.ts';
export { certificateStates, dropCertificate, wantCertificate } from './engine/page-names.ts';
export type { CertificateStatus } from './views/certificate.ts';

export const certificates = defineArea({
  name: 'certificates',
  operations: [],
  migrations: { schema: 'certificates', folder: new URL('./migrations/', import.meta.url) },
  sealed: [
    { table: 'certificates.authority', column: 'account_key', id: 'directory' },
    { table: 'certificates.certificate', column: 'private_key', id: 'name' },
    { table: 'certificates.certificate', column: 'next_key', id: 'name' },
  ],
  tasks,
  open: openCertificates,
});
