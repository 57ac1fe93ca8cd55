import { auditEach } from '../../../identity/audit.ts';
import { topics } from '../../../identity/principal.ts';
import { dropRights, lockRights } from '../../../identity/rights-lock.ts';
import { accountById, orgsOfUser } from '../../../identity/store/members.ts';
import {
  countSessions,
  deleteSessions,
  forgetMethods,
  insertSession,
  lockSession,
  renewSession,
  sessionsOf,
} from '../../../identity/store/sessions.ts';
import { mintKey } from '../../../identity/token-format.ts';
import type { App } from '../../../kernel/app.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { unauthenticated } from '../../../kernel/errors.ts';
import { job, moveOrEnqueue } from '../../../kernel/jobs/index.ts';
import { browserName } from '../rules/browser-name.ts';
import { noteBrowser } from './known-browsers.ts';
import { tellPerson } from './notices.ts';
import type { Person, Visitor } from './person.ts';

export type { Person, Visitor } from './person.ts';

/** The part of the server that begins sessions. */
export type SessionHost = Pick<App, 'config' | 'mail' | 'publicUrl' | 'caches'>;

/**
 * Begins a session, and ends the one that the browser had before: the transaction must begin with `lockFormer`. The key is returned once, for
 * the cookie. It is on record in each organization of the person, who gets a mail when the browser is a new one.
 */
export async function startSession(tx: Tx, app: SessionHost, person: Person, methods: readonly string[], visitor: Visitor) {
  const { config } = app;
  const { key, hash } = mintKey('sess');
  const id = await insertSession(tx, {
    userId: person.id,
    hash,
    methods,
    address: visitor.address,
    agent: visitor.agent.slice(0, maxAgentLength),
    idleSeconds: config.session_idle_seconds,
    maxSeconds: config.session_max_seconds,
  });
  await record(tx, person, visitor, 'account.session.start', id, { methods, address: visitor.address });
  if (!(await noteBrowser(tx, person.id, key, visitor.knownKey))) await tellPerson(tx, app, person, newBrowserNotice(person, visitor));
  if (visitor.former) await endSessions(tx, app, visitor.former, [visitor.former.session_id], visitor);
  await keepSessionsFew(tx, person.id);
  return { id, key };
}

/** The lock of the session that ends when another one begins in this browser. */
export const lockFormer = async (tx: Tx, { former }: Pick<Visitor, 'former'>): Promise<void> => {
  if (former) await lockSessions(tx, former.id, [former.session_id]);
};

const maxAgentLength = 300;

const newBrowserNotice = ({ email }: Person, { agent, address }: Visitor) => ({
  subject: 'You signed in with another browser',
  text: `${email} signed in with a browser that was not used before.\n\nBrowser: ${browserName(agent) || 'unnamed'}\nNetwork address: ${address}`,
});

/** Ends sessions of a person, in every process with the commit. The transaction must begin with `lockSessions`. */
export async function endSessions(
  tx: Tx,
  app: Pick<App, 'caches'>,
  person: Person,
  ids: readonly string[],
  visitor: Pick<Visitor, 'requestId'>,
) {
  const ended = (await deleteSessions(tx, person.id, ids)).map(({ id }) => id);
  for (const id of ended) {
    await dropRights(tx, app.caches, '', topics.session(person.id, id));
    await record(tx, person, visitor, 'account.session.end', id);
  }
  return ended;
}

/** `further`: a session of whichever person. */
export const lockSessions = (tx: Tx, userId: string, ids: readonly string[], further?: Visitor['former']): Promise<void> => {
  const revokes = ids.map((id) => topics.session(userId, id));
  return lockRights(tx, '', { revokes: further ? [...revokes, topics.session(further.id, further.session_id)] : revokes });
};

/** The session may have ended while a request waited: then it changes nothing. Locked until the transaction ends. */
export async function requireLive(tx: Tx, sessionId: string): Promise<void> {
  (await lockSession(tx, sessionId)) ?? unauthenticated('you are signed out; sign in again');
}

/** A change by a signed-in person, in a transaction that their session lives through. */
export const writeAs = <T>(app: Pick<App, 'db'>, person: Person & { session_id: string }, act: (tx: Tx) => Promise<T>): Promise<T> =>
  app.db.write(async (tx) => {
    await lockSessions(tx, person.id, [person.session_id]);
    await requireLive(tx, person.session_id);
    return act(tx);
  });

/** Ends a session of the person who asks; another than the one that asks only while that one is live. */
export const endOwnSession = (app: Pick<App, 'db' | 'caches'>, person: Person & { session_id: string }, id: string, visitor: Visitor) =>
  app.db.write(async (tx) => {
    await lockSessions(tx, person.id, [...new Set([id, person.session_id])]);
    if (id !== person.session_id) await requireLive(tx, person.session_id);
    await endSessions(tx, app, person, [id], visitor);
  });

/** How a person signs in concerns every organization of theirs: it is on record in each. */
export async function record(
  tx: Tx,
  person: Person,
  { requestId = '' }: { requestId?: string },
  action: string,
  id: string,
  detail: Record<string, unknown> = {},
): Promise<void> {
  for (const org of await orgsOfUser(tx, person.id))
    await auditEach(tx, { org, user: person, ...(requestId && { requestId }) }, action, [{ id, detail }]);
}

/** A factor was removed: the session that goes on has it no more. The transaction must begin with `lockSessions`. */
export async function loseMethods(tx: Tx, app: Pick<App, 'caches'>, person: Person, sessionId: string, methods: readonly string[]) {
  await forgetMethods(tx, sessionId, methods);
  await dropRights(tx, app.caches, '', topics.session(person.id, sessionId));
}

/** The person proved themselves once more: dangerous operations are open again for a while. The transaction must begin with `lockSessions`. */
export async function renew(
  tx: Tx,
  app: Pick<App, 'caches'>,
  person: Person,
  session: { id: string; methods: readonly string[] },
  visitor: Visitor,
) {
  await renewSession(tx, session.id, session.methods);
  await dropRights(tx, app.caches, '', topics.session(person.id, session.id));
  await record(tx, person, visitor, 'account.session.renew', session.id, { methods: session.methods, address: visitor.address });
}

const maxSessions = 100;

/** Ending a session takes locks that must come first in a transaction, so a job ends what is too many. */
async function keepSessionsFew(tx: Tx, userId: string): Promise<void> {
  if ((await countSessions(tx, userId, maxSessions + 1)) > maxSessions) await moveOrEnqueue(tx, trimSessions, { key: userId });
}

/** Ends the oldest sessions of a person who has too many. Run twice, it finds none. */
export const trimSessions = job('account.trim-sessions', {}, async ({ app, key: userId }) => {
  const person = await app.db.read((tx) => accountById(tx, userId));
  const ids = (await app.db.read((tx) => sessionsOf(tx, userId))).slice(maxSessions).map(({ id }) => id);
  if (!person || !ids.length) return;
  await app.db.write(async (tx) => {
    await lockSessions(tx, userId, ids);
    await endSessions(tx, app, person, ids, { requestId: '' });
  });
});
