import type { Tx } from '../../../kernel/db/index.ts';
import { knownHash, knownKeyOf } from '../rules/known-browser.ts';
import { deleteBrowser, deleteBrowsersBeyond, insertBrowser, ownerOfBrowser } from '../store/known-browsers.ts';
import type { GuessSubject } from './guesses.ts';

const maxPerPerson = 20;

/** The browser that gets this session is known from now on, by a new cookie. Returns whether it was known to the person before. */
export async function noteBrowser(tx: Tx, userId: string, sessionKey: string, knownKey: string | undefined): Promise<boolean> {
  const wasKnown = knownKey !== undefined && (await deleteBrowser(tx, userId, knownHash(knownKey))) > 0;
  await insertBrowser(tx, userId, knownHash(knownKeyOf(sessionKey)));
  if (!wasKnown) await deleteBrowsersBeyond(tx, userId, maxPerPerson);
  return wasKnown;
}

/** The person who is known to a browser. */
export const knownPerson = async (tx: Tx, knownKey: string | undefined): Promise<string | undefined> =>
  knownKey === undefined ? undefined : ownerOfBrowser(tx, knownHash(knownKey));

/** Whom a guess is charged to, if the browser is known to the person; else `otherwise`. */
export const guessSubject = (isKnown: boolean, knownKey: string | undefined, otherwise: GuessSubject): GuessSubject =>
  isKnown && knownKey !== undefined ? { kind: 'browser', knownHash: knownHash(knownKey) } : otherwise;
