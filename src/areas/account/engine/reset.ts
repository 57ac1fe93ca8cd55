import { browserUrl } from '../../../identity/rules/browser-url.ts';
import { isMailable } from '../../../identity/rules/mailable.ts';
import { isVouched, orgsOfUser, vouchFor } from '../../../identity/store/members.ts';
import type { App } from '../../../kernel/app.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { enqueue, job } from '../../../kernel/jobs/index.ts';
import { membersOfAddress } from '../store/addresses.ts';
import { deleteSecondFactorsOf } from '../store/factors.ts';
import { takeMailAllowance } from '../store/mail-allowances.ts';
import { changeEndingSessions } from './ending-sessions.ts';
import { lookAtLink, makeLink, useLink } from './links.ts';
import { deliverLink } from './notices.ts';
import { checkNewPassword, hashPassword, setPassword } from './passwords.ts';
import { type Person, record, type Visitor } from './sessions.ts';
import { type FirstFactorPassed, passPassword } from './sign-in.ts';

// A forgotten password. The request does the same for every address: it queues a job, which looks for accounts. So neither its answer nor
// its work tells who has one.
//
// States: asked → mailed (the link is made when the mail leaves; a newer one ends it) → used, or over after an hour. A crash before the
// commit leaves the link unused and the password as it was; after it the password is set, and the person signs in with it.

const mailsPerHour = 3;
/** Accounts of one address that a mail names. A member who may invite can make one of any address. */
const maxAccounts = 5;

/** Queues the mail. An address whose mail waits already is not queued twice. */
export const askForReset = (tx: Tx, email: string, requestId: string) =>
  enqueue(tx, mailReset, { key: email.trim().toLowerCase(), requestId });

/** Run twice, it mails a newer link, and the earlier one ends. */
export const mailReset = job('account.mail-reset', { lane: 'mail', maxAttempts: 5 }, async ({ app, key: email, attempt, requestId }) => {
  if (!app.mail.leaves() || !isMailable(email)) return;
  const made = await app.db.write((tx) => makeResets(tx, email, attempt === 1, requestId));
  if (!made) return;
  const { publicUrl, mail } = app;
  const links = made.resets.map(({ slugs, secret }) => `${slugs.join(', ')}:\n${browserUrl(publicUrl())}/sign-in/reset/${secret}`);
  const text = `A new password was asked for on Quarterdeck, for ${email}. The link works once, for an hour.\n\n${links.join('\n\n')}\n\nIf it was not you, ignore this mail: your password stays as it is.\n`;
  await deliverLink(
    { mail },
    { org: made.org, to: email, subject: 'A new password for Quarterdeck', text, id: `reset:${made.resets[0]!.id}` },
  );
});

async function makeResets(tx: Tx, email: string, isNew: boolean, requestId = '') {
  const accounts = await membersOfAddress(tx, email, maxAccounts);
  const [first] = accounts;
  if (!first || (isNew && !(await takeMailAllowance(tx, `reset ${email}`, mailsPerHour)))) return undefined;
  const resets = [];
  for (const { id, email: address, slugs } of accounts) {
    const { secret, expiresAt } = await makeLink(tx, id, 'reset');
    await record(tx, { id, email: address }, { requestId }, 'account.reset.ask', id);
    resets.push({ id: `${id}:${expiresAt}`, slugs, secret });
  }
  return { org: (await orgsOfUser(tx, first.id))[0]!, resets };
}

export const lookAtReset = (tx: Tx, secret: string) => lookAtLink(tx, secret, ['reset']);

/**
 * A member who may invite can make an account of any address and add factors to that. The first mail that reaches the person proves whose it is:
 * what was added before goes. An account that is vouched for keeps its second factor.
 */
async function takeFromStrangers(tx: Tx, person: Person, visitor: Visitor): Promise<void> {
  if (await isVouched(tx, person.id)) return;
  await deleteSecondFactorsOf(tx, [person.id]);
  await vouchFor(tx, person.id);
  await record(tx, person, visitor, 'account.address.prove', person.id);
}

/** Sets a password by a link, and ends every session. The second factor stays, and is asked for next as after every right password. */
export async function resetPassword(app: App, secret: string, password: string, visitor: Visitor): Promise<FirstFactorPassed> {
  const { person } = await app.db.read((tx) => lookAtReset(tx, secret)); // before the hash: strangers cause none
  checkNewPassword(password, person);
  const phc = await hashPassword(password, person, visitor);
  return changeEndingSessions(app, {
    person,
    visitor,
    change: async (tx) => {
      await useLink(tx, secret, ['reset']);
      await takeFromStrangers(tx, person, visitor);
      await setPassword(tx, app, person, phc, visitor);
    },
    next: (tx) => passPassword(tx, app, person, visitor),
  });
}
