// Passwords are stored as PHC strings: `$argon2id$v=19$m=19456,t=2,p=1$<salt>$<tag>`, base64 without padding. The parameters stand beside
// the tag, so that a password which was hashed with others is still verified, and hashed anew.

/** What a hash costs: KiB of memory, passes over it, lanes. OWASP's recommendation for argon2id. */
export interface Cost {
  memory: number;
  passes: number;
  parallelism: number;
}

export const currentCost: Cost = { memory: 19_456, passes: 2, parallelism: 1 };

export interface PasswordHash extends Cost {
  salt: Buffer;
  tag: Buffer;
}

const unpadded = (bytes: Buffer) => bytes.toString('base64').replaceAll('=', '');

export const formatPhc = ({ memory, passes, parallelism, salt, tag }: PasswordHash): string =>
  `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${unpadded(salt)}$${unpadded(tag)}`;

/** Reads a string that `formatPhc` made. */
export function parsePhc(phc: string): PasswordHash {
  const [, kind, version, cost = '', salt = '', tag = ''] = phc.split('$');
  const [memory, passes, parallelism] = cost.split(',').map((part) => Number(part.slice(2)));
  if (kind !== 'argon2id' || version !== 'v=19' || !memory || !passes || !parallelism) throw new Error('not a password hash of ours');
  return { memory, passes, parallelism, salt: Buffer.from(salt, 'base64'), tag: Buffer.from(tag, 'base64') };
}

/** Whether the parameters have changed since. */
export const isOutdated = ({ memory, passes, parallelism }: Cost): boolean =>
  memory !== currentCost.memory || passes !== currentCost.passes || parallelism !== currentCost.parallelism;
