import type { X509Certificate } from 'node:crypto';
import type { TestContext } from 'node:test';
import { type AcmeAuthority, acmeAuthority, presentedBy } from '../../../../test/fakes/acme.ts';
import { type FakeDns, fakeDns } from '../../../../test/fakes/dns.ts';
import { freePort } from '../../../../test/harness/free-port.ts';
import { eventually } from '../../../../test/harness/process.ts';
import type { App } from '../../../kernel/app.ts';
import { wake } from '../../../kernel/jobs/index.ts';
import { certificatesDue } from '../engine/keep-certificates.ts';
import { type AuthorityRow, findAuthority } from '../store/authorities.ts';
import { type CertificateRow, findCertificate, orderNow, wantHosts } from '../store/certificates.ts';

export { presentedBy } from '../../../../test/fakes/acme.ts';
export { eventually } from '../../../../test/harness/process.ts';

export const publicHost = 'qd.example.com';

export interface AcmeScene {
  authority: AcmeAuthority;
  dns: FakeDns;
  /** Settings of a server that orders there. */
  env: Record<string, string>;
  ports: { http: number; tls: number };
}

/** An authority, a DNS that leads the public host to this machine, and the settings of a server between them. */
export async function acmeScene(t: TestContext, more: Record<string, string> = {}): Promise<AcmeScene> {
  const ports = { http: await freePort(), tls: await freePort() };
  const authority = await acmeAuthority(t, ports);
  const dns = await fakeDns(t, { [publicHost]: { A: ['127.0.0.1'] } });
  const env = {
    QUARTERDECK_ACME: 'operator@example.com',
    QUARTERDECK_ACME_DIRECTORY: authority.directory,
    QUARTERDECK_PUBLIC_URL: `https://${publicHost}`,
    QUARTERDECK_LISTEN: `127.0.0.1:${ports.tls}`,
    QUARTERDECK_HTTP_LISTEN: `127.0.0.1:${ports.http}`,
    QUARTERDECK_DNS_SERVERS: dns.address,
    ...more,
  };
  return { authority, dns, env, ports };
}

export const rowOf = (app: App, name: string): Promise<CertificateRow | undefined> => app.db.read((tx) => findCertificate(tx, name));

/** The row of a name once it is as it should be. */
export const becomes = (app: App, name: string, is: (row: CertificateRow) => boolean): Promise<CertificateRow> =>
  eventually(async () => {
    const row = await rowOf(app, name);
    return row && is(row) ? row : undefined;
  });

export const isIssued = (row: CertificateRow): boolean => row.issued_at !== null && row.step === 'idle';

/** The account of a server's authority once it is as it should be. */
export const authorityBecomes = (app: App, is: (row: AuthorityRow) => boolean): Promise<AuthorityRow> =>
  eventually(async () => {
    const row = await app.db.read((tx) => findAuthority(tx, app.config.acme_directory));
    return row && is(row) ? row : undefined;
  });

/** What a port presents for a host, once an authority has issued it: another certificate than `before`. */
export const presentsIssued = (port: number, host: string | undefined, before?: X509Certificate): Promise<X509Certificate> =>
  eventually(async () => {
    const found = await presentedBy(port, host);
    const isFor = host === undefined || found.checkHost(host) !== undefined;
    return isFor && /Fake intermediate/.test(found.issuer) && found.fingerprint256 !== before?.fingerprint256 ? found : undefined;
  });

/** As the operator asks for it. */
export const askForOrder = (app: App, name: string) =>
  app.db.write(async (tx) => {
    await orderNow(tx, name);
    wake(tx, certificatesDue);
  });

/** As if the settings had named it, and name another one now. */
export const wasHost = (app: App, name: string) => app.db.write((tx) => wantHosts(tx, [name]));
