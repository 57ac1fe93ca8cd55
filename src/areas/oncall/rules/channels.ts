// The table of paging channels. Steps read the address, previews and the doctor the warnings, saving the refusals, and sending the
// failures. The senders are in clients/channels.
import { channelNames } from '../../../../contract/oncall/channels.ts';
import type { RetryAdvice } from '../../../kernel/errors.ts';
import type { Addresses } from './addresses.ts';

export { channelNames };
export type ChannelName = (typeof channelNames)[number];

/** How one person can be reached, as far as we know. */
export interface Reachability extends Addresses {
  /** The person texted STOP to the organization's number. */
  stopped: boolean;
  /** The organization's account for SMS and calls; `broken` once the provider has refused its credential. */
  provider: 'none' | 'works' | 'broken';
  /** Whether our own mail can be sent: by the operator's relay, or from a domain verified here. */
  relay: boolean;
}

/** Something a page needs to arrive, with a sentence for each place that reports it missing. */
interface Need {
  /** In the doctor's findings. */
  code: 'no-address' | 'no-relay' | 'no-provider' | 'dead-channel';
  isMet(reach: Reachability): boolean;
  /** In a preview. */
  warning: string;
  /** The refusal when a person saves a rule without it: 400 if that person can fix it, 409 otherwise. Absent: saving is allowed. */
  refusal?: { status: 400 | 409; sentence: () => string };
  /** The failure in the timeline; the page is not attempted. Absent: it is attempted, and the provider's own message is shown. */
  failure?: (person: string) => string;
  /** It may be repaired without a change to this page, so the page waits. The person's next rule does not wait. */
  mayMend?: true;
}

const mailbox: Need = {
  code: 'no-address',
  isMet: ({ email }) => Boolean(email),
  warning: 'this person has no email address',
  failure: (person) => `${person} has no email address`,
};

const relay: Need = {
  code: 'no-relay',
  isMet: (reach) => reach.relay,
  warning: 'no mail leaves this server: the operator must set QUARTERDECK_SMTP_RELAY',
  failure: () => 'no mail leaves this server: the operator must set QUARTERDECK_SMTP_RELAY',
  mayMend: true,
};

const provider: Need = {
  code: 'no-provider',
  isMet: (reach) => reach.provider !== 'none',
  warning: 'no-credential: the organization has no SMS and voice provider; set one',
  refusal: {
    status: 409,
    sentence: () => 'the organization has no SMS and voice provider; an admin sets one with PUT /api/v1/oncall/provider',
  },
  failure: () => 'no-credential: the organization has no SMS and voice provider; an admin sets one with PUT /api/v1/oncall/provider',
};

const phone: Need = {
  code: 'no-address',
  isMet: (reach) => Boolean(reach.phone),
  warning: 'this person has given no phone number',
  refusal: {
    status: 400,
    sentence: () => `${phoneChannels.join(' and ')} rules need a phone; add it, or use ${otherChannels.join(' and ')} rules only`,
  },
  failure: (person) => `${person} has given no phone`,
};

const credential: Need = {
  code: 'dead-channel',
  isMet: (reach) => reach.provider !== 'broken',
  warning: 'the provider refused the organization’s credential when it was last used; set it again',
};

const consent: Need = {
  code: 'dead-channel',
  isMet: (reach) => !reach.stopped,
  warning: 'this phone replied STOP; its owner must save their paging settings again',
  failure: (person) => `${person} texted STOP; saving the paging settings again lifts it`,
};

interface Channel {
  /** One page by this channel, in the middle of a sentence: `a` or `an`, and a word. */
  page: string;
  goesTo: keyof Addresses;
  /** Whether a reply names the page by its four digits. Mail has a link instead. */
  coded: boolean;
  /** Whether a failed page says that the channel is dead. An unanswered call counts as failed, and says nothing about the channel. */
  failureIsTelling: boolean;
  /** In order of priority: the first missing need is reported. */
  needs: readonly Need[];
}

export const channels: Record<ChannelName, Channel> = {
  email: { page: 'an email', goesTo: 'email', coded: false, failureIsTelling: true, needs: [mailbox, relay] },
  sms: { page: 'an SMS', goesTo: 'phone', coded: true, failureIsTelling: true, needs: [provider, phone, credential, consent] },
  voice: { page: 'a call', goesTo: 'phone', coded: true, failureIsTelling: false, needs: [provider, phone, credential] },
};

/** Pages that a newer release made may go by a channel that this one does not have. */
export const isKnownChannel = (name: string): name is ChannelName => Object.hasOwn(channels, name);

/** Channels to a phone. Their pages can be answered by text. */
export const phoneChannels: readonly ChannelName[] = channelNames.filter((channel) => channels[channel].goesTo === 'phone');
/** Channels whose last failure the doctor reports. */
export const tellingChannels: readonly ChannelName[] = channelNames.filter((channel) => channels[channel].failureIsTelling);
const otherChannels = channelNames.filter((channel) => !phoneChannels.includes(channel));

/** One page by this channel, at the start of a sentence. */
export const pageAsSubject = (channel: ChannelName): string => {
  const page = isKnownChannel(channel) ? channels[channel].page : 'a page';
  return page[0]!.toUpperCase() + page.slice(1);
};

/** The address of a page by this channel; null if the person has none. */
export const addressOf = (channel: ChannelName, person: Addresses): string | null => person[channels[channel].goesTo];

/** The first missing need of a page by this channel. */
export const missingFor = (channel: ChannelName, reach: Reachability): Pick<Need, 'code' | 'warning'> | undefined =>
  channels[channel].needs.find((need) => !need.isMet(reach));

/** What would prevent a page by this channel. */
export const warningOf = (channel: ChannelName, reach: Reachability): string | undefined => missingFor(channel, reach)?.warning;

/** Why rules with these channels cannot be saved. Problems that the person can fix come first. */
export function refusalOf(wanted: readonly ChannelName[], reach: Reachability): { status: 400 | 409; sentence: string } | undefined {
  const missing = wanted.flatMap((channel) => channels[channel].needs).filter((need) => !need.isMet(reach));
  const refusals = missing.flatMap(({ refusal }) => (refusal ? [refusal] : []));
  const [first] = refusals.sort((a, b) => a.status - b.status);
  return first && { status: first.status, sentence: first.sentence() };
}

/** Why a page by this channel is not attempted. */
export function failureOf(
  channel: ChannelName,
  reach: Reachability,
  person: string,
): { sentence: string; retryAdvice: RetryAdvice } | undefined {
  const missing = channels[channel].needs.find((need) => need.failure && !need.isMet(reach));
  return missing && { sentence: missing.failure!(person), retryAdvice: missing.mayMend ? 'until mended' : 'for good' };
}
