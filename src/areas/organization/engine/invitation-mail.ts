import Type from 'typebox';
import type { RateLimit } from '../../../identity/rate-limit.ts';
import { browserUrl } from '../../../identity/rules/browser-url.ts';
import { isMailable } from '../../../identity/rules/mailable.ts';
import { oneLine } from '../../../identity/rules/one-line.ts';
import { memberOf } from '../../../identity/store/members.ts';
import { findOrg } from '../../../identity/store/organizations.ts';
import type { App } from '../../../kernel/app.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { GiveUp } from '../../../kernel/jobs/declare.ts';
import { enqueue, job } from '../../../kernel/jobs/index.ts';
import { NotDelivered } from '../../../kernel/mail.ts';
import { findInvitation, type InvitationRow } from '../store/invitations.ts';

// The link is a secret of which the database holds a hash. In the queue it is sealed, until the mail has left.

/** Sealed, base64. After a change of the key that took longer than the mail could wait, the mail is given up: the inviter has the link. */
const Payload = Type.Object({ secret: Type.String() });

const placeOf = (id: string) => `kernel.job.payload.${id}`;

interface MailLimits {
  ofOrganization: RateLimit;
  toAddress: RateLimit;
}

/** Mails the link of a new invitation. False: no mail leaves, or too many did; the inviter passes the link on. */
export async function sendInvitation(
  tx: Tx,
  app: Pick<App, 'mail' | 'secrets'>,
  limits: MailLimits,
  org: string,
  { invitation, secret }: { invitation: InvitationRow; secret: string },
): Promise<boolean> {
  const { id, email } = invitation;
  if (!app.mail.leaves() || !isMailable(email)) return false;
  if (!limits.toAddress.take(email.toLowerCase()).allowed || !limits.ofOrganization.take(org).allowed) return false;
  await enqueue(tx, mailInvitation, { key: id, org, payload: { secret: app.secrets.seal(secret, placeOf(id)).toString('base64') } });
  return true;
}

/** Run twice, the mail may arrive twice, with one Message-ID and the same link. An invitation that is over by then is not mailed. */
export const mailInvitation = job(
  'organization.mail-invitation',
  { lane: 'mail', payload: Payload, maxAttempts: 8 },
  async ({ app, key, org = '', payload }) => {
    const found = await app.db.read((tx) => factsOf(tx, org, key));
    if (!found) return;
    const secret = app.secrets.unseal(Buffer.from(payload.secret, 'base64'), placeOf(key));
    const mail = invitationMail(found, `${browserUrl(app.publicUrl())}/join/${secret}`);
    await app.mail.deliver({ ...mail, org, id: `invitation:${key}` }).catch((error) => {
      throw error instanceof NotDelivered && error.retryAdvice === 'for good' ? new GiveUp(error.message, { cause: error }) : error;
    });
  },
);

async function factsOf(tx: Tx, orgId: string, id: string) {
  const invitation = await findInvitation(tx, orgId, id);
  if (!invitation) return undefined;
  const org = await findOrg(tx, orgId);
  const inviter = invitation.invited_by ? await memberOf(tx, orgId, invitation.invited_by) : undefined;
  return { invitation, org, inviter };
}

/** The subject has the slug alone: a name is any text. */
const invitationMail = ({ invitation, org, inviter }: NonNullable<Awaited<ReturnType<typeof factsOf>>>, link: string) => ({
  to: invitation.email,
  subject: `Invitation to ${org.slug} on Quarterdeck`,
  text: [
    `${inviter ? inviter.email : 'The operator'} invites you to the organization “${oneLine(org.name)}” (${org.slug}), as ${invitation.role}.`,
    '',
    'The link works once, for 7 days:',
    link,
    '',
    'If you do not know them, ignore this mail: nothing happens.',
    '',
  ].join('\n'),
});
