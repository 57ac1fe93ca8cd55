import { slugsOfUser } from '../../../identity/store/members.ts';
import type { SignedIn } from '../../../identity/store/sessions.ts';
import type { App } from '../../../kernel/app.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { invalid } from '../../../kernel/errors.ts';
import { type OwnWords, passwordProblem } from '../rules/new-password.ts';
import { savePassword } from '../store/passwords.ts';
import { deletePendingOf } from '../store/pending.ts';
import { changeEndingOthers } from './ending-sessions.ts';
import { hashQueue, makeHash } from './hashing.ts';
import { tellPerson } from './notices.ts';
import { type Person, record, type Visitor } from './sessions.ts';
import { revokeOwnTokens } from './tokens.ts';

/** Refuses a password that others would guess. */
export function checkNewPassword(password: string, own: OwnWords): void {
  const problem = passwordProblem(password, own);
  if (problem) invalid(problem);
}

/** Hashes a password that was checked, for a person who is signed in or holds a link. Outside of a transaction: it waits for its turn. */
export const hashPassword = (password: string, { id }: Person, { address }: Pick<Visitor, 'address'>): Promise<string> =>
  hashQueue.run({ address, personId: id }, () => makeHash(password));

/**
 * Stores a person's password. The second factor stays as it is. Sign-ins that wait for a code were begun with the password before, so they
 * end; ending the sessions is up to the caller, who knows which one to leave.
 */
export async function setPassword(
  tx: Tx,
  app: Pick<App, 'mail' | 'publicUrl'>,
  person: Person,
  phc: string,
  visitor: { requestId?: string } = {},
): Promise<void> {
  await savePassword(tx, person.id, phc);
  await deletePendingOf(tx, person.id);
  await record(tx, person, visitor, 'account.password.set', person.id);
  await tellPerson(tx, app, person, { subject: 'Your password was changed', text: `The password of ${person.email} was changed.` });
}

/**
 * A person who is signed in chooses a password. All other sessions end with it. Tokens are revoked first, if asked for: after a crash in
 * between the person sends the form again.
 */
export async function changePassword(
  app: App,
  person: SignedIn,
  wanted: { password: string; repeated: string; revokesTokens: boolean },
  visitor: Visitor,
): Promise<void> {
  if (wanted.password !== wanted.repeated) invalid('the two passwords differ; type the same one twice');
  const organizations = await app.db.read((tx) => slugsOfUser(tx, person.id));
  checkNewPassword(wanted.password, { email: person.email, name: person.name, organizations });
  const phc = await hashPassword(wanted.password, person, visitor);
  if (wanted.revokesTokens) await revokeOwnTokens(app, person, visitor.requestId);
  await changeEndingOthers(app, person, visitor, (tx) => setPassword(tx, app, person, phc, visitor));
}
