import { generateKeyPair, type KeyObject, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { makeFairSemaphore } from '../../../../kernel/fairness/index.ts';

export interface DkimKey {
  selector: string;
  /** As it stands in the DNS. */
  public: string;
  /** PKCS #8, PEM. */
  private: string;
}

export interface DkimKeys {
  rsa: DkimKey;
  ed: DkimKey;
}

const makePair = promisify(generateKeyPair);

/** A key takes a core a tenth of a second or so: in a thread of Node's pool, few at once, and one of an organization. */
export function makeKeyMaker(): (org: string) => Promise<DkimKeys> {
  const turns = makeFairSemaphore({ slots: 2, perOrg: 1, maxWaitingPerOrg: 20, waitMs: 10_000 });
  return (org) => turns.run(org, makeKeys);
}

/** RSA for everybody, Ed25519 beside it (RFC 8463). Selectors are new each time: what is cached of a deleted domain is not in the way. */
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
