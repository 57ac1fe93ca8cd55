import { accountById } from '../../../identity/store/members.ts';
import { hashKey } from '../../../identity/token-format.ts';
import type { App } from '../../../kernel/app.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { countTry, deletePending, lockPending, type PendingRow } from '../store/pending.ts';
import { useCode } from './codes.ts';
import { countGuess, uncountGuess } from './guesses.ts';
import { guessSubject, knownPerson } from './known-browsers.ts';
import { lockFormer, type Person, startSession, type Visitor } from './sessions.ts';
import { recordGuessing } from './sign-in.ts';

const maxTries = 5;

/** `over`: the sign-in began too long ago, or too many codes were wrong: it begins again with the password. */
export type SecondStep = { session: { id: string; key: string } } | { outcome: 'wrong' | 'over' };

/**
 * A code after a right password. One transaction: the code is used, the pending sign-in is gone and the session is there, or nothing of it. A
 * wrong code is counted with it.
 */
export const passCode = (app: App, pendingKey: string, code: string, visitor: Visitor): Promise<SecondStep> =>
  app.db.write(async (tx) => {
    await lockFormer(tx, visitor);
    const found = await findPending(tx, pendingKey);
    if (!found) return { outcome: 'over' };
    const { pending, person } = found;
    const isKnown = (await knownPerson(tx, visitor.knownKey)) === person.id;
    const guess = await countGuess(tx, guessSubject(isKnown, visitor.knownKey, { kind: 'codes', userId: person.id }), visitor.address);
    const method = await useCode(tx, app, person, code, visitor);
    if (!method) {
      if (guess.isLast) await recordGuessing(tx, person, visitor);
      return failTry(tx, pending);
    }
    await uncountGuess(tx, guess);
    await deletePending(tx, pending.id);
    return { session: await startSession(tx, app, person, [...pending.methods, method], visitor) };
  });

async function findPending(tx: Tx, key: string): Promise<{ pending: PendingRow; person: Person } | undefined> {
  const pending = await lockPending(tx, hashKey(key));
  const person = pending && (await accountById(tx, pending.user_id));
  return person && { pending, person };
}

async function failTry(tx: Tx, { id, tries }: PendingRow): Promise<SecondStep> {
  if (tries + 1 >= maxTries) {
    await deletePending(tx, id);
    return { outcome: 'over' };
  }
  await countTry(tx, id);
  return { outcome: 'wrong' };
}
