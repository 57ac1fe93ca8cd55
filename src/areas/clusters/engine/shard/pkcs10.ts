import type { RequestObject } from '../../clients/tenant/requests.ts';
import type { CertificateRequest } from '../../rules/requests.ts';
import { loadX509 } from '../pki.ts';

const subjectAlternativeName = '2.5.29.17';

/** What a request says, once its signature was checked: whoever asks has the key. */
export async function readPkcs10({ spec }: RequestObject): Promise<CertificateRequest> {
  const x509 = await loadX509();
  const csr = new x509.Pkcs10CertificateRequest(Buffer.from(spec.request, 'base64').toString());
  if (!(await csr.verify())) throw new Error('the signature is not good');
  const extension = csr.extensions.find(({ type }) => type === subjectAlternativeName);
  const names = extension ? new x509.SubjectAlternativeNameExtension(extension.rawData).names.items : [];
  const of = (type: string) => names.filter((name) => name.type === type).map((name) => name.value);
  const [dnsNames, addresses] = [of('dns'), of('ip')];
  return {
    signer: spec.signerName,
    username: spec.username ?? '',
    usages: spec.usages ?? [],
    commonName: csr.subjectName.getField('CN')[0] ?? '',
    organizations: csr.subjectName.getField('O'),
    dnsNames,
    addresses,
    otherNames: names.length - dnsNames.length - addresses.length,
  };
}
