import { hash } from 'node:crypto';
import { base32 } from './totp.ts';

// A recovery code stands in for the authenticator app, once. It has 80 random bits, so a plain hash of it is not guessed.

export const recoveryCodes = { count: 10, bytes: 10 };

/** `ABCD-EFGH-IJKL-MNOP`. */
export const formatRecoveryCode = (bytes: Buffer): string => base32(bytes).match(/.{4}/g)!.join('-');

/** As it was typed: capital letters and dashes do not matter, and the alphabet has no 0, 1 and 8. */
const normalized = (typed: string): string =>
  typed
    .toUpperCase()
    .replaceAll(/[^A-Z0-9]/g, '')
    .replaceAll('0', 'O')
    .replaceAll('1', 'I')
    .replaceAll('8', 'B');

/** What is stored; two people with one code have two hashes. */
export const hashRecoveryCode = (userId: string, typed: string): Buffer =>
  hash('sha256', `recovery ${userId} ${normalized(typed)}`, 'buffer');
