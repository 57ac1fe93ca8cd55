import type { IncomingMessage } from 'node:http';
import type { App } from '../kernel/app.ts';
import { makeAttempts } from './attempts.ts';
import { sessionKeyIn } from './session-cookie.ts';
import { personOfSession, type SignedIn, touchSessions } from './store/sessions.ts';
import { hashKey, kindOf } from './token-format.ts';

/** The person of the session that a page is asked with; undefined: none, or one that is over. */
export type FindSignedIn = (request: IncomingMessage) => Promise<SignedIn | undefined>;

/** A use of a session is noted so often: `lastSeenAt` and its end need not be exact. */
const noteUseSeconds = 60;

/**
 * For pages, which are of no organization. To look at one is a use of the session, which keeps it from ending. Cookies that were made up are
 * throttled by address, like every wrong secret (429).
 */
export function makeFindSignedIn(app: App): FindSignedIn {
  const guesses = makeAttempts(app);
  return async (request) => {
    const key = sessionKeyIn(request, app);
    if (key === undefined || kindOf(key) !== 'sess') return undefined;
    const hash = hashKey(key);
    const found = await guesses.lookUp(request, hash.toString('latin1'), () => app.db.read((tx) => personOfSession(tx, hash)));
    if (found && found.seen_seconds_ago >= noteUseSeconds) await app.db.write((tx) => touchSessions(tx, [found.session_id]));
    return found;
  };
}
