import { confirmationLimits as limits } from '../rules/confirmation-mail.ts';
import type { HeldBackRow } from '../store/mail-allowances.ts';
import type { SubscriberRow } from '../store/subscribers.ts';

export const subscriberView = (s: SubscriberRow) => ({
  id: s.id,
  address: s.address,
  state: s.state,
  createdAt: s.created_at,
  ...(s.confirmed_at ? { confirmedAt: s.confirmed_at } : {}),
});

const sentences: Record<HeldBackRow['reason'], string> = {
  recipient: `an address was sent ${limits.recipient.day} links within a day already, by all pages of this server together`,
  client: `more than ${limits.client.hour} links an hour were asked for from one address of the network`,
  organization: `your pages have sent ${limits.organization.hour} links within an hour, or ${limits.organization.day} within a day, which is the most`,
};

export const heldBackView = ({ reason, mails, last_at }: HeldBackRow) => ({ reason, mails, lastAt: last_at, sentence: sentences[reason] });
