import { readRequest } from '../../../../kernel/x509/request.ts';
import type { RequestObject } from '../../clients/tenant/requests.ts';
import type { CertificateRequest } from '../../rules/requests.ts';

/** What a request says; throws if it cannot be read, or whoever asks does not have the key. */
export function readPkcs10({ spec }: RequestObject): CertificateRequest {
  const { commonName, organizations, dnsNames, addresses, otherNames } = readRequest(
    Buffer.from(spec.request, 'base64').toString('latin1'),
  );
  return {
    ...{ commonName, organizations, dnsNames, addresses, otherNames },
    ...{ signer: spec.signerName, username: spec.username ?? '', usages: spec.usages ?? [] },
  };
}
