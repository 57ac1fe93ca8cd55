import { readSigningRequest } from '../../../../kernel/x509/request.ts';
import type { SigningRequest } from '../../clients/tenant/requests.ts';
import type { CertificateRequest } from '../../rules/requests.ts';

/** Parses a request with the same function that signs it. Undefined: unreadable, or not signed by its own key. */
export function readPkcs10({ spec }: SigningRequest): CertificateRequest | undefined {
  const read = readSigningRequest(Buffer.from(spec.request, 'base64').toString('latin1'));
  if (!read) return undefined;
  const { commonName, organizations, dnsNames, addresses, hasOtherNames } = read;
  return {
    commonName,
    organizations,
    dnsNames,
    addresses,
    hasOtherNames,
    signer: spec.signerName,
    username: spec.username ?? '',
    usages: spec.usages ?? [],
  };
}
