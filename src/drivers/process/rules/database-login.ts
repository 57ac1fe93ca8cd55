import { createHash, createHmac, pbkdf2Sync } from 'node:crypto';

/** kine's login at our database. */
export interface DatabaseLogin {
  user: string;
  password: string;
}

/** The password is derived from the key that seals the cluster's store, which is random, stored sealed and never changes. */
export const loginOf = (role: string, storeKey: string): DatabaseLogin => ({
  user: role,
  password: createHmac('sha256', Buffer.from(storeKey, 'base64')).update('quarterdeck: kine at PostgreSQL').digest('hex'),
});

const iterations = 4_096;

/** The SCRAM verifier that PostgreSQL stores (RFC 5803): a statement log does not reveal the password. Deterministic. */
export function verifierOf({ user, password }: DatabaseLogin): string {
  const hmac = (key: Buffer, text: string) => createHmac('sha256', key).update(text).digest();
  const salt = hmac(Buffer.from(password), user).subarray(0, 16);
  const salted = pbkdf2Sync(password, salt, iterations, 32, 'sha256');
  const stored = createHash('sha256').update(hmac(salted, 'Client Key')).digest('base64');
  return `SCRAM-SHA-256$${iterations}:${salt.toString('base64')}$${stored}:${hmac(salted, 'Server Key').toString('base64')}`;
}
