import { randomBytes } from 'node:crypto';
import type { App } from '../../../kernel/app.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { Refusal } from '../../../kernel/errors.ts';
import { challengeHash, challengeSeconds } from '../rules/ceremony.ts';
import { challengeEnd, useChallengeOnce } from '../store/passkeys.ts';

// A challenge is kept by the browser alone, sealed in a cookie: a visitor who asks for many fills no table. Once it is used, its hash is kept
// until it is over. A crash between its making and its use leaves nothing.

/** Which ceremony it is for: signing in, or, with the id of a session, one of that session. */
export type Ceremony = 'sign-in' | `again ${string}` | `add ${string}`;

export interface Challenge {
  challenge: string;
  expiresAt: string;
}

const where = 'account.used_challenge.cookie';

/** A new challenge, and its sealed form for the cookie. */
export async function makeChallenge({ db, secrets }: Pick<App, 'db' | 'secrets'>, ceremony: Ceremony) {
  const challenge = randomBytes(32).toString('base64url');
  const expiresAt = await db.read((tx) => challengeEnd(tx, challengeSeconds));
  return { challenge, sealed: secrets.seal(`${challenge} ${expiresAt} ${ceremony}`, where).toString('base64url') };
}

/** The challenge in a cookie. */
export function openChallenge({ secrets }: Pick<App, 'secrets'>, sealed: string | undefined, ceremony: Ceremony): Challenge {
  const [, challenge, expiresAt, sealedFor] = /^(\S+) (\S+) (.+)$/.exec(unsealed(secrets, sealed ?? '')) ?? [];
  if (challenge === undefined || expiresAt === undefined || sealedFor !== ceremony) return refuseChallenge();
  return { challenge, expiresAt };
}

/** Uses a challenge up, for good once the transaction commits. Of two uses at once, one waits for the other and is refused. */
export async function useChallenge(tx: Tx, { challenge, expiresAt }: Challenge): Promise<void> {
  if (!(await useChallengeOnce(tx, challengeHash(challenge), expiresAt))) refuseChallenge();
}

function unsealed(secrets: App['secrets'], sealed: string): string {
  try {
    return secrets.unseal(Buffer.from(sealed, 'base64url'), where);
  } catch {
    return ''; // made up, or sealed with a key that was dropped since
  }
}

function refuseChallenge(): never {
  throw new Refusal(
    409,
    'challenge_over',
    'this attempt was used already, took longer than five minutes, or was begun in another tab; try again',
  );
}
