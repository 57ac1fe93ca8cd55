import { sessionsOf } from '../../../identity/store/sessions.ts';
import type { App } from '../../../kernel/app.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { unavailable } from '../../../kernel/errors.ts';
import { endSessions, lockSessions, type Person, requireLive, type Visitor } from './sessions.ts';

const attempts = 5;

/** A session began between the look and the locks. */
class SessionBegan extends Error {}

interface Ending<T> {
  person: Person;
  visitor: Visitor;
  /** The session that goes on: that of the person who changes something. */
  kept?: string;
  change(tx: Tx): Promise<void>;
  /** What comes after, such as a new session. */
  next(tx: Tx): Promise<T>;
}

/**
 * A change after which no earlier session goes on, but for one: one transaction makes it, ends the sessions of the person, and does what
 * comes next. The locks come first, so the sessions are read before; when another began meanwhile, all of it begins anew.
 *
 * Links by mail and by the operator go on: a thief who is signed in could end the person's way back with one change after the other.
 */
export async function changeEndingSessions<T>(app: Pick<App, 'db' | 'caches'>, ending: Ending<T>): Promise<T> {
  const { person, visitor, kept, change, next } = ending;
  const others = async (tx: Tx) => (await sessionsOf(tx, person.id)).map(({ id }) => id).filter((id) => id !== kept);
  for (let attempt = 1; attempt <= attempts; attempt++) {
    const ids = await app.db.read(others);
    try {
      return await app.db.write(async (tx) => {
        await lockSessions(tx, person.id, kept === undefined ? ids : [...ids, kept], visitor.former);
        if (kept !== undefined) await requireLive(tx, kept);
        await change(tx);
        if ((await others(tx)).some((id) => !ids.includes(id))) throw new SessionBegan();
        await endSessions(tx, app, person, ids, visitor);
        return next(tx);
      });
    } catch (error) {
      if (!(error instanceof SessionBegan)) throw error;
    }
  }
  return unavailable('you are signing in elsewhere at this moment; try again');
}

/** A change by a signed-in person that ends all their other sessions. */
export const changeEndingOthers = (
  app: Pick<App, 'db' | 'caches'>,
  person: Person & { session_id: string },
  visitor: Visitor,
  change: (tx: Tx) => Promise<void>,
): Promise<void> => changeEndingSessions(app, { person, visitor, kept: person.session_id, change, next: async () => {} });
