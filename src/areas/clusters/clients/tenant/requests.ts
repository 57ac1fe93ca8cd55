import type { Ask } from '../../../../drivers/driver.ts';
import { askFor, listAll } from './ask.ts';

export const requestsPath = '/apis/certificates.k8s.io/v1/certificatesigningrequests';

/** The fields of a CertificateSigningRequest that are used here. */
export interface SigningRequest {
  metadata: { name: string; uid: string; creationTimestamp?: string };
  spec: { request: string; signerName: string; username?: string; usages?: string[]; extra?: Record<string, string[]> };
  status?: { certificate?: string; conditions?: { type: string }[] };
}

export const isDecided = ({ status }: SigningRequest): boolean =>
  (status?.conditions ?? []).some(({ type }) => type === 'Approved' || type === 'Denied' || type === 'Failed');

export const listRequests = (ask: Ask): Promise<SigningRequest[]> => listAll(ask, requestsPath);

/** Undefined: it was deleted meanwhile. */
export const readRequest = (ask: Ask, name: string): Promise<SigningRequest | undefined> =>
  askFor(ask, 'GET', `${requestsPath}/${encodeURIComponent(name)}`, undefined, [404]);

export interface Decision {
  type: 'Approved' | 'Denied';
  reason: string;
  message: string;
}

/** Writes a decision, unless there is one already. */
export async function decideRequest(ask: Ask, { name, uid }: { name: string; uid: string }, decision: Decision): Promise<void> {
  const path = `${requestsPath}/${encodeURIComponent(name)}`;
  for (let attempt = 0; attempt < 10; attempt++) {
    const found = await readRequest(ask, name);
    if (!found || found.metadata.uid !== uid || isDecided(found)) return;
    const condition = { ...decision, status: 'True' };
    const { status, body } = await ask('PUT', `${path}/approval`, {
      ...found,
      status: { ...found.status, conditions: [...(found.status?.conditions ?? []), condition] },
    });
    if (status === 409) continue;
    if (status >= 300 && status !== 404)
      throw new Error(`a certificate request could not be decided: ${status} ${String(body?.message ?? '')}`);
    return;
  }
}

export const removeRequest = (ask: Ask, name: string) =>
  askFor(ask, 'DELETE', `${requestsPath}/${encodeURIComponent(name)}`, undefined, [404]);
