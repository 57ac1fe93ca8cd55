import { hash } from 'node:crypto';

/** The public id of an object: stable and opaque. Internal ids contain a creation time and work as API parameters. */
export const publicId = (id: string): string => {
  const digest = hash('sha256', `quarterdeck status ${id}`, 'buffer');
  let n = digest.readBigUInt64BE();
  let text = '';
  for (let i = 0; i < 12; i++) {
    text += 'bcdfghjkmnpqrstvwxyz0123456789'[Number(n % 30n)];
    n /= 30n;
  }
  return text;
};
