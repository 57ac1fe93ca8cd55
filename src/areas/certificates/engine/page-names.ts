import type { App } from '../../../kernel/app.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { wake } from '../../../kernel/jobs/index.ts';
import { now } from '../../../kernel/time.ts';
import { certificatesNamed, deleteName, wantName } from '../store/certificates.ts';
import { type CertificateStatus, certificateStatus } from '../views/certificate.ts';
import { certificatesDue } from './keep-certificates.ts';
import { wantedHosts } from './settings.ts';

/** A domain of an organization that leads here gets a certificate, if it has none. */
export async function wantCertificate(tx: Tx, { config }: Pick<App, 'config'>, org: string, name: string): Promise<void> {
  if (await wantName(tx, org, name, wantedHosts(config))) wake(tx, certificatesDue);
}

/** It does not lead here any more, or the organization has given it up: its certificate and key are deleted. */
export const dropCertificate = (tx: Tx, org: string, name: string): Promise<void> => deleteName(tx, org, name);

/** How the certificates of these names are; a name that is not ordered is absent. */
export async function certificateStates(tx: Tx, names: readonly string[]): Promise<Map<string, CertificateStatus>> {
  if (names.length === 0) return new Map();
  const [rows, at] = await Promise.all([certificatesNamed(tx, names), now(tx)]);
  return new Map(rows.map((row) => [row.name, certificateStatus(row, at)]));
}
