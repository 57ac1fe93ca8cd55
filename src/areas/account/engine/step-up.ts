import type { SignedIn } from '../../../identity/store/sessions.ts';
import type { App } from '../../../kernel/app.ts';
import { Refusal } from '../../../kernel/errors.ts';
import { passwordsOf, sharePassword } from '../store/passwords.ts';
import { hasTotp } from '../store/pending.ts';
import { useCode } from './codes.ts';
import { countGuess, type Guess, uncountGuess } from './guesses.ts';
import { hashQueue, verifyHash } from './hashing.ts';
import { renew, type Visitor, writeAs } from './sessions.ts';
import { recordGuessing } from './sign-in.ts';

/**
 * A person who is signed in proves themselves once more, by password and, where there is an authenticator app, a code. Failures are counted
 * for the session: strangers cannot use them up, and a stolen cookie has few.
 */
export async function proveAgain(app: App, person: SignedIn, sent: { password: string; code: string }, visitor: Visitor): Promise<void> {
  const { guess, phc } = await hashQueue.run({ address: visitor.address, personId: person.id }, () =>
    passPasswordAgain(app, person, sent, visitor),
  );
  await writeAs(app, person, async (tx) => {
    if (!(await sharePassword(tx, person.id, phc))) throw wrongProof();
    await uncountGuess(tx, guess); // before the code: every transaction locks counts first. A wrong code undoes it.
    const method = (await hasTotp(tx, person.id)) ? ((await useCode(tx, app, person, sent.code, visitor)) ?? wrong()) : undefined;
    const methods = method ? ['password', method] : ['password'];
    await renew(tx, app, person, { id: person.session_id, methods }, visitor);
  }).catch((error) => refuseProof(app, person, guess, visitor, error));
}

async function passPasswordAgain(app: App, person: SignedIn, { password }: { password: string }, visitor: Visitor) {
  const { guess, phc } = await app.db.write(async (tx) => ({
    guess: await countGuess(tx, { kind: 'session', id: person.session_id }, visitor.address),
    phc: (await passwordsOf(tx, [person.id]))[0]?.phc,
  }));
  const { isRight } = await verifyHash(password, phc);
  if (isRight && phc !== undefined) return { guess, phc };
  return refuseProof(app, person, guess, visitor, wrongProof());
}

/** Throws it. The last failure before further ones are refused is on record. */
async function refuseProof(app: App, person: SignedIn, { isLast }: Guess, visitor: Visitor, error: unknown): Promise<never> {
  if (isLast && error instanceof WrongProof) await app.db.write((tx) => recordGuessing(tx, person, visitor));
  throw error;
}

class WrongProof extends Refusal {}

const wrongProof = () => new WrongProof(401, 'unauthenticated', 'the password or the code is wrong, or the code was used already');
const wrong = (): never => {
  throw wrongProof();
};
