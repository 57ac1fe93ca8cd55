import { hash } from 'node:crypto';
import { tooMany } from '../../../identity/attempts.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { type CountedBucket, countInBuckets, uncountInBuckets } from '../store/guesses.ts';

// Wrong passwords and codes are counted in PostgreSQL, so that all processes agree: for an account, and for the address that they come
// from. Guesses are counted before the work and taken back when they were right, so that a hundred at once count as a hundred. A process that
// is killed in between leaves one failure too many, for an hour.
//
// Strangers must not be able to lock a person out. So a browser in which the person has signed in has a count of its own (OWASP: device
// cookies), codes are counted apart from passwords, and the limit of an address holds for strangers alone. Passkeys and links are never
// held up.

const windowSeconds = 3_600;
const limits = { account: 10, codes: 10, browser: 10, session: 10, address: 60 };

/**
 * Whose failures they are: wrong passwords of all unknown browsers of an account together; their wrong codes, which take a right password;
 * those of one known browser; those of one session that proves itself again.
 */
export type GuessSubject =
  | { kind: 'account'; email: string }
  | { kind: 'codes'; userId: string }
  | { kind: 'browser'; knownHash: Buffer }
  | { kind: 'session'; id: string };

/** A guess that was counted. */
export interface Guess {
  counted: CountedBucket[];
  /** It was the last one of its subject. */
  isLast: boolean;
}

/** Accounts that do not exist are counted as well. Addresses are hashed, because people type passwords into the wrong field. */
function bucketOf(subject: GuessSubject): string {
  if (subject.kind === 'account') return `account ${hash('sha256', subject.email.toLowerCase())}`;
  if (subject.kind === 'browser') return `browser ${subject.knownHash.toString('hex')}`;
  return subject.kind === 'codes' ? `codes ${subject.userId}` : `session ${subject.id}`;
}

/** Counts a guess before its work. Refuses it, uncounted, when there were too many. */
export async function countGuess(tx: Tx, subject: GuessSubject, address: string): Promise<Guess> {
  const bucket = bucketOf(subject);
  const counted = await countInBuckets(tx, subject.kind === 'account' ? [bucket, `address ${address}`] : [bucket], windowSeconds);
  for (const each of counted) {
    const kind = each.bucket === bucket ? subject.kind : 'address';
    if (each.failures > limits[kind]) throw tooMany(sentences[kind], each.seconds_left);
  }
  return { counted, isLast: counted.some((each) => each.bucket === bucket && each.failures === limits[subject.kind]) };
}

/** It was right. */
export const uncountGuess = (tx: Tx, { counted }: Guess) => uncountInBuckets(tx, counted);

const own = 'too many wrong passwords or codes in this browser; sign in with a passkey or a link';
const elsewhere = 'sign in with a passkey, with a link, or in a browser that you have used before';
const sentences = {
  account: `too many wrong passwords for this address; ${elsewhere}`,
  codes: `too many wrong codes for this account; ${elsewhere}`,
  browser: own,
  session: own,
  address: `too many wrong passwords from your network address; ${elsewhere}`,
};
