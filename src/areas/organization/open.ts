import type { Payment } from '../../identity/payment.ts';
import { type RateLimit, rateLimit } from '../../identity/rate-limit.ts';
import type { Host, Opened } from '../area.ts';
import { mailsAtOnce } from './rules/limits.ts';

export interface OpenOrganization {
  payment: Payment;
  invitationMails: InvitationMails;
}

/** How many invitations this process mails. */
interface InvitationMails {
  ofOrganization: RateLimit;
  toAddress: RateLimit;
}

const perHour = (mails: number) => rateLimit(mails / 60, undefined, mails);

export const openOrganization = ({ payment }: Host): Opened<OpenOrganization> => ({
  own: { payment, invitationMails: { ofOrganization: perHour(mailsAtOnce.ofOrganization), toAddress: perHour(mailsAtOnce.toAddress) } },
});
