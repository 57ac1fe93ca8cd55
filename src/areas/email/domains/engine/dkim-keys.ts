import { generateKeyPair, type KeyObject, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { makeFairSemaphore } from '../../../../kernel/fairness/index.ts';

export interface DkimKey {
  selector: string;
  /** The form published in DNS. */
  public: string;
  /** PKCS #8, PEM. */
  private: string;
}

export interface DkimKeys {
  rsa: DkimKey;
  ed: DkimKey;
}

const makePair = promisify(generateKeyPair);

/** A key pair takes about 0.1 s of a core, in Node's thread pool: two at a time, one per organization. */
export function makeKeyMaker(): (org: string) => Promise<DkimKeys> {
  const turns = makeFairSemaphore({ slots: 2, perOrg: 1, maxWaitingPerOrg: 20, waitMs: 10_000 });
  return (org) => turns.run(org, makeKeys);
}

/** RSA for every receiver, and Ed25519 (RFC 8463). Selectors are random, so cached DNS records of a deleted domain do not interfere. */
async function makeKeys(): Promise<DkimKeys> {
  const [rsa, ed] = await Promise.all([makePair('rsa', { modulusLength: 2_048 }), makePair('ed25519')]);
  const stem = `qd${randomBytes(4).toString('hex')}`;
  return {
    rsa: { selector: `${stem}r`, public: derOf(rsa.publicKey).toString('base64'), private: pemOf(rsa.privateKey) },
    // RFC 8463 4.2: the bare 32 bytes, which end the DER form.
    ed: { selector: `${stem}e`, public: derOf(ed.publicKey).subarray(-32).toString('base64'), private: pemOf(ed.privateKey) },
  };
}

const derOf = (key: KeyObject) => key.export({ type: 'spki', format: 'der' });
const pemOf = (key: KeyObject) => key.export({ type: 'pkcs8', format: 'pem' }) as string;
