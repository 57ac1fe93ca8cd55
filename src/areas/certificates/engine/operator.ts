import type { Config } from '../../../kernel/config.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { now } from '../../../kernel/time.ts';
import { findAuthority } from '../store/authorities.ts';
import { listCertificates, orderNow } from '../store/certificates.ts';
import { type CertificateStatus, certificateStatus } from '../views/certificate.ts';
import { acmeSettings, wantedHosts } from './settings.ts';

/** One name as the operator sees it. */
export interface NameOverview extends CertificateStatus {
  name: string;
  /** Whose status page it is; null: a host of the installation. */
  org: string | null;
  renewsAt: string | null;
  triedAgainAt: string | null;
  failures: number;
  /** A host that the settings do not name any more is not renewed. */
  isWanted: boolean;
  createdAt: string;
}

export interface CertificateOverview {
  now: string;
  /** Undefined: certificates are not ordered here. */
  authority: { directory: string; trouble: string | null; pausedUntil: string | null } | undefined;
  names: NameOverview[];
  /** Hosts of the settings that no server has seen yet. */
  unseen: string[];
}

export async function overviewCertificates(tx: Tx, config: Config): Promise<CertificateOverview> {
  const settings = acmeSettings(config);
  const hosts = wantedHosts(config);
  const [at, rows, account] = [await now(tx), await listCertificates(tx), settings && (await findAuthority(tx, settings.directory))];
  return {
    now: at,
    authority: settings && {
      directory: settings.directory,
      trouble: account?.last_error ?? null,
      pausedUntil: account?.paused_until && account.paused_until > at ? account.paused_until : null,
    },
    names: rows.map((row) => ({
      ...certificateStatus(row, at),
      name: row.name,
      org: row.org_id,
      renewsAt: row.renew_at,
      triedAgainAt: row.last_error === null ? null : row.next_at,
      failures: row.failures,
      isWanted: row.org_id !== null || hosts.includes(row.name),
      createdAt: row.created_at,
    })),
    unseen: hosts.filter((host) => !rows.some(({ name }) => name === host)),
  };
}

/** Ends the pause of a name, or has a new certificate replace the one that it has. False: there is no such name. */
export const orderCertificate = async (tx: Tx, name: string): Promise<boolean> => (await orderNow(tx, name)) !== undefined;
