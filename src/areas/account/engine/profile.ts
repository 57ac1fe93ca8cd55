import Type from 'typebox';
import { type Actor, audit } from '../../../identity/audit.ts';
import { topics } from '../../../identity/principal.ts';
import { browserUrl } from '../../../identity/rules/browser-url.ts';
import { isMailable } from '../../../identity/rules/mailable.ts';
import { accountById, orgsOfUser, vouchFor } from '../../../identity/store/members.ts';
import { lockOrg } from '../../../identity/store/organizations.ts';
import type { SignedIn } from '../../../identity/store/sessions.ts';
import type { App } from '../../../kernel/app.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { conflict, forbidden, Refusal } from '../../../kernel/errors.ts';
import { enqueue, job } from '../../../kernel/jobs/index.ts';
import { isAddressTaken, isOwnerSomewhere, updateAddress, updateName } from '../store/addresses.ts';
import { deleteLinksOf } from '../store/links.ts';
import { takeMailAllowance } from '../store/mail-allowances.ts';
import { lookAtLink, makeLink, useLink } from './links.ts';
import { deliverLink, tellPerson } from './notices.ts';
import { type Person, requireLive } from './sessions.ts';

// A person's name and address. A new address is proven by a link that is mailed to it, and used by the person who asked, signed in: a
// stranger who gets the mail by a typing error gets no account.
//
// States of a change: asked → mailed (the link is made when the mail leaves) → used, replaced by a newer one, or over after a day. The old
// address holds until the link is used, in one transaction with everything that follows.

const mailsPerHour = 3;

type Host = Pick<App, 'caches' | 'mail' | 'publicUrl'>;

/** Who acts in each organization of the person. */
type ActorIn = (org: string) => Actor;

const byThemselves =
  (person: Person, requestId: string): ActorIn =>
  (org) => ({ org, user: person, requestId });

export async function changeName(tx: Tx, app: Pick<App, 'caches'>, person: SignedIn, name: string, requestId: string): Promise<void> {
  await requireLive(tx, person.session_id);
  await updateName(tx, person.id, name);
  await tellOrganizations(tx, app, person, byThemselves(person, requestId), 'account.name.change', { from: person.name, to: name });
}

/** The change is on record in each organization, and no process shows the old name or address any more. */
async function tellOrganizations(
  tx: Tx,
  { caches }: Pick<App, 'caches'> | { caches: Pick<App['caches'], 'drop'> },
  person: Person,
  by: ActorIn,
  action: string,
  detail: Record<string, string | boolean>,
): Promise<void> {
  for (const org of await orgsOfUser(tx, person.id)) {
    await audit(tx, by(org), action, person, detail);
    await caches.drop(tx, topics.user(org, person.id));
  }
}

/** `mailed`: a link is on its way. `changed`: the address is changed already. */
export async function askForAddress(tx: Tx, app: Host, person: SignedIn, email: string, requestId: string): Promise<'mailed' | 'changed'> {
  await requireLive(tx, person.session_id);
  if (email === person.email) conflict(`${email} is your address already`);
  if (app.mail.leaves()) {
    await requireAllowance(tx, person, email);
    await enqueue(tx, mailAddressLink, { key: `${person.id}:${email}`, requestId, payload: { userId: person.id, email } });
    return 'mailed';
  }
  if (isMailable(person.email) || !(await isOwnerSomewhere(tx, person.id)))
    conflict(
      `no mail leaves this server, so a new address cannot be proven; ask the operator for \`quarterdeck admin members set-email ${person.email} ${email}\``,
    );
  // The first owner has an address that no mail reaches, and chooses one before mail is set up.
  await changeAddress(tx, app, person, email, byThemselves(person, requestId), { isProven: false });
  return 'changed';
}

async function requireAllowance(tx: Tx, person: Person, email: string): Promise<void> {
  const isFree =
    (await takeMailAllowance(tx, `address of ${person.id}`, mailsPerHour)) &&
    (await takeMailAllowance(tx, `address ${email.toLowerCase()}`, mailsPerHour));
  if (!isFree) throw new Refusal(429, 'rate_limited', `${mailsPerHour} mails went out in this hour; look at your mail, or try again later`);
}

/** Run twice, it mails a newer link, and the earlier one ends. */
export const mailAddressLink = job(
  'account.mail-address',
  { lane: 'mail', maxAttempts: 5, payload: Type.Object({ userId: Type.String(), email: Type.String() }) },
  async ({ app, payload: { userId, email } }) => {
    const made = await app.db.write(async (tx) => {
      const person = await accountById(tx, userId);
      const [org] = await orgsOfUser(tx, userId);
      return person && org !== undefined ? { person, org, ...(await makeLink(tx, userId, 'address', email)) } : undefined;
    });
    if (!made) return;
    const { person, org, secret, expiresAt } = made;
    const text = `${person.email} wants to be reached at this address on Quarterdeck from now on. Open the link in the browser in which you are signed in. It works once, for a day:\n${browserUrl(app.publicUrl())}/account/address/${secret}\n\nIf it was not you, ignore this mail: nothing happens.\n`;
    await deliverLink(app, { org, to: email, subject: 'Your new address on Quarterdeck', text, id: `address:${userId}:${expiresAt}` });
  },
);

/** What a link changes. It counts for the person who asked alone. */
export async function lookAtAddress(tx: Tx, secret: string, person: Person) {
  const { link } = await lookAtLink(tx, secret, ['address']);
  return requireOwn(link, person).detail;
}

function requireOwn<T extends { user_id: string }>(link: T, person: Person): T {
  if (link.user_id !== person.id) forbidden(`the link is for another account than ${person.email}; sign in as the one that asked for it`);
  return link;
}

/** Uses a link up, and changes the address. */
export async function proveAddress(tx: Tx, app: Host, secret: string, person: SignedIn, requestId: string): Promise<void> {
  await requireLive(tx, person.session_id);
  const { link } = await useLink(tx, secret, ['address']);
  await changeAddress(tx, app, person, requireOwn(link, person).detail, byThemselves(person, requestId), { isProven: true });
  await vouchFor(tx, person.id);
  await tellPerson(tx, app, person, {
    subject: 'Your address was changed',
    text: `Your account on Quarterdeck has the address ${link.detail} from now on. Further mail goes there.`,
  });
}

/** Changes the address of an account. Links that were mailed to the old one end. */
export async function changeAddress(
  tx: Tx,
  app: { caches: Pick<App['caches'], 'drop'> },
  person: Person,
  email: string,
  by: ActorIn,
  detail: { isProven: boolean },
): Promise<void> {
  // As for every change of members: in no organization two get one address at once.
  for (const org of await orgsOfUser(tx, person.id)) await lockOrg(tx, org);
  if ((await isAddressTaken(tx, person.id, email)) || !(await updateAddress(tx, person.id, email)))
    conflict(`another account has the address ${email}; sign in as that one, or choose another address`);
  await deleteLinksOf(tx, person.id, 'reset', 'address');
  await tellOrganizations(tx, app, person, by, 'account.address.change', { from: person.email, to: email, ...detail });
}
