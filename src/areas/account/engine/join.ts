import { topics } from '../../../identity/principal.ts';
import { accountById } from '../../../identity/store/members.ts';
import type { SignedIn } from '../../../identity/store/sessions.ts';
import type { App } from '../../../kernel/app.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { conflict, unauthenticated } from '../../../kernel/errors.ts';
import { joinInBrowser, lookAtInvitation } from '../../organization/index.ts';
import { hasWayIn } from '../store/ways-in.ts';
import { requireLive, startSession, type Visitor } from './sessions.ts';

// An invitation link proves that its holder was invited. The inviter sees it too, so it never signs in to an account that has a way in of
// its own: that account joins by signing in. A new account is signed in at once, and chooses its way in next. One transaction: after a
// crash the invitation is open, or the member there. A member whose cookie was lost comes back by a reset or by the operator's link.

/** What a link offers, and whether only a person who signs in first may take it. */
export async function lookAtJoin(tx: Tx, secret: string) {
  const { hasAccount, formerMember, ...invitation } = await lookAtInvitation(tx, secret);
  return { ...invitation, mustSignIn: hasAccount || (formerMember !== undefined && (await hasWayIn(tx, formerMember.id))) };
}

/** Joins with a new account, or with that of a former member who has no way in any more. The key is for the cookie. */
export async function joinAnew(tx: Tx, app: App, secret: string, name: string | undefined, visitor: Visitor) {
  const { account } = await joinInBrowser(tx, { app, requestId: visitor.requestId }, secret, name);
  if (await hasWayIn(tx, account.id)) conflict(`${account.email} has an account here of before; sign in to it, and open the link again`);
  return startSession(tx, app, account, ['invitation'], visitor);
}

/** Joins with the account that is signed in. */
export async function joinSignedIn(tx: Tx, app: Pick<App, 'caches'>, secret: string, person: SignedIn, requestId: string): Promise<void> {
  await requireLive(tx, person.session_id);
  // Read again: the address may have changed since the page was asked for.
  const account = (await accountById(tx, person.id)) ?? unauthenticated('the account is deleted; open the link again');
  await joinInBrowser(tx, { app, account, requestId }, secret);
  // Which organization it means without naming one may have changed.
  await app.caches.drop(tx, topics.session(person.id, person.session_id));
}
