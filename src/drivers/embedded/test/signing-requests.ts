import type { Caller } from './support.ts';

export const csrs = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
export const clientUsages = ['digital signature', 'client auth'];
export const kubelet = 'kubernetes.io/kube-apiserver-client-kubelet';

export const signingRequest = (name: string, pem: string, signerName: string, usages: string[]) => ({
  apiVersion: 'certificates.k8s.io/v1',
  kind: 'CertificateSigningRequest',
  metadata: { name },
  spec: { request: Buffer.from(pem).toString('base64'), signerName, usages },
});

export async function approve(call: Caller, name: string) {
  const { body } = await call('GET', `${csrs}/${name}`);
  body.status = { conditions: [{ type: 'Approved', status: 'True', reason: 'Test', message: 'yes' }] };
  return call('PUT', `${csrs}/${name}/approval`, body);
}
