import { hash } from 'node:crypto';

/** How the public names something of ours: stable, and telling nothing. Our own ids say when a thing was made, and open doors with a key. */
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
