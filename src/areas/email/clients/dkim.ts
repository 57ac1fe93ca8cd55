import { createHash, type KeyObject } from 'node:crypto';
export const makeBodyHash = () => {
  const h = createHash('sha256');
  return { update: (b: Buffer) => void h.update(b), digest: () => h.digest() };
};
export const signHeader = async (_: {
  header: Buffer;
  bodyHash: Buffer;
  domain: string;
  selector: string;
  key: KeyObject;
  at: Date;
}): Promise<string> => '';
