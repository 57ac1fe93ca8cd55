// The channels by which people are paged, in one table. Steps ask it where a page goes, previews what would keep it from arriving,
// saving asks what a rule needs, and sending why a page cannot go out. How each channel sends stands in clients/channels.
import { channelNames } from '../../../../contract/oncall/channels.ts';
import type { RetryAdvice } from '../../../kernel/errors.ts';

export { channelNames };
export type ChannelName = (typeof channelNames)[number];

/** How one person can be reached, as far as anybody knows. */
export interface Reachability {
  email: string | null;
  phone: string | null;
  /** They texted STOP to our number. */
  stopped: boolean;
  /** The organization's account for SMS and calls; `broken` once the provider has refused its credential. */
  provider: 'none' | 'works' | 'broken';
  /** Whether the product's own mail leaves: by the operator's relay, or from a domain that is verified here. */
  relay: boolean;
}

/** A thing without which a page does not arrive, in the words of everybody who notices that it is missing. */
interface Need {
  /** In the doctor's findings. */
  code: 'no-address' | 'no-relay' | 'no-provider' | 'dead-channel';
  isMet(reach: Reachability): boolean;
  /** In a preview. */
  warning: string;
  /** To the person who saves a rule without it: 400 if they can mend it themselves, 409 if somebody else must. Absent: they may. */
  refusal?: { status: 400 | 409; sentence: () => string };
  /** In the timeline, of a page that is not even tried without it. Absent: it is tried, and the other side's own words are told. */
  failure?: (person: string) => string;
  /** It may come without anybody touching this page, so the page waits for it; the person's next rule does not. */
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
  /** One page by it, in the middle of a sentence. */
  page: string;
  /** Where it goes: the member's own mailbox, or the phone of their paging settings. */
  goesTo: 'email' | 'phone';
  /** Whether a reply names the page by its four digits. Mail carries a link instead. */
  coded: boolean;
  /** In the order in which they are told: of several that are missing, the first. */
  needs: readonly Need[];
}

export const channels: Record<ChannelName, Channel> = {
  email: { page: 'an email', goesTo: 'email', coded: false, needs: [mailbox, relay] },
  sms: { page: 'an SMS', goesTo: 'phone', coded: true, needs: [provider, phone, credential, consent] },
  voice: { page: 'a call', goesTo: 'phone', coded: true, needs: [provider, phone, credential] },
};

/** Channels that reach a phone: whoever has one of their pages may answer it by texting back. */
export const phoneChannels: readonly ChannelName[] = channelNames.filter((channel) => channels[channel].goesTo === 'phone');
const otherChannels = channelNames.filter((channel) => !phoneChannels.includes(channel));

/** One page by it, at the start of a sentence. */
export const pageAsSubject = (channel: ChannelName): string => {
  const { page } = channels[channel];
  return page[0]!.toUpperCase() + page.slice(1);
};

/** The mailbox or the phone that a page by this channel goes to; null while the person has none. */
export const addressOf = (channel: ChannelName, person: Pick<Reachability, 'email' | 'phone'>): string | null =>
  person[channels[channel].goesTo];

/** The first thing that a page by this channel needs and that is missing. */
export const missingFor = (channel: ChannelName, reach: Reachability): Pick<Need, 'code' | 'warning'> | undefined =>
  channels[channel].needs.find((need) => !need.isMet(reach));

/** What would keep a page by this channel from arriving. */
export const warningOf = (channel: ChannelName, reach: Reachability): string | undefined => missingFor(channel, reach)?.warning;

/** Why rules with these channels cannot be saved. What the person can mend themselves is told before what others must do. */
export function refusalOf(wanted: readonly ChannelName[], reach: Reachability): { status: 400 | 409; sentence: string } | undefined {
  const missing = wanted.flatMap((channel) => channels[channel].needs).filter((need) => !need.isMet(reach));
  const refusals = missing.flatMap(({ refusal }) => (refusal ? [refusal] : []));
  const [first] = refusals.sort((a, b) => a.status - b.status);
  return first && { status: first.status, sentence: first.sentence() };
}

/** Why a page by this channel is not even tried. */
export function failureOf(
  channel: ChannelName,
  reach: Reachability,
  person: string,
): { sentence: string; retryAdvice: RetryAdvice } | undefined {
  const missing = channels[channel].needs.find((need) => need.failure && !need.isMet(reach));
  return missing && { sentence: missing.failure!(person), retryAdvice: missing.mayMend ? 'until mended' : 'for good' };
}
