import type { RetryAdvice } from '../../../../kernel/errors.ts';
import type { ChannelName } from '../../rules/channels.ts';
import type { PageContent } from '../../rules/page-mail.ts';
import type { Account } from '../twilio/client.ts';

/** One page on its way to one person. */
export interface PageToSend {
  id: string;
  org: string;
  incident: { id: string; title: string; serviceName: string; description?: string };
  user: { id: string; label: string };
  channel: ChannelName;
  /** The mailbox or the phone, as it was when the step fired. */
  address: string;
  /** Four digits that a reply names. */
  code: string;
  /** Pages about this incident that the person did not get since the last one, because they were too many. */
  heldBack: number;
  /** What it tells beyond the incident itself; present in a page to whoever acknowledged. */
  about?: string;
  /** 1 the first time. */
  attempt: number;
  /** When it was first handed to the channel. */
  sendingAt: string;
  /** Where the person acknowledges with one press. */
  ackUrl: string;
}

export interface ProviderAccount extends Account {
  fromNumber: string;
}

/** What a channel has to know beyond the page itself, looked up anew for each attempt. */
export interface SendContext {
  /** The organization's account for SMS and calls. */
  account: ProviderAccount | undefined;
  /** Which of the provider's ids are known to belong to a page already. */
  claimedIds(providerIds: readonly string[]): Promise<ReadonlySet<string>>;
  /** What fires, for a channel that has room to tell of it. */
  loadAlerts(): Promise<Pick<PageContent, 'alerts' | 'moreAlerts'>>;
}

export interface SendResult {
  /** The provider's own name for it. */
  providerId?: string;
  state: 'sent' | 'delivered';
}

/** The page did not leave, and why. */
export class PageFailed extends Error {
  /** `for good` and `until mended`: the person's next rule fires at once. `until mended` and `for now`: this page is tried again. */
  readonly retryAdvice: RetryAdvice;
  /** The provider refused not the page but the organization's account: its words. */
  readonly accountRefused: string | undefined;

  constructor(sentence: string, retryAdvice: RetryAdvice, { cause, accountRefused }: { cause?: unknown; accountRefused?: string } = {}) {
    super(sentence, { cause });
    this.name = 'PageFailed';
    this.retryAdvice = retryAdvice;
    this.accountRefused = accountRefused;
  }
}

/** What a page tells beyond its incident: what is new, and how many pages were held back. */
export const extraSentences = ({ heldBack, about }: Pick<PageToSend, 'heldBack' | 'about'>): string[] => [
  ...(about ? [`${about}.`] : []),
  ...(heldBack
    ? [`${heldBack} further ${heldBack > 1 ? 'pages' : 'page'} about this incident ${heldBack > 1 ? 'were' : 'was'} held back.`]
    : []),
];

/** How one channel sends. It is asked only once nothing is missing that rules/channels.ts says it needs. */
export interface Channel {
  /** Hands one page over; throws PageFailed. */
  send(page: PageToSend, context: SendContext): Promise<SendResult>;
  /** Whether an earlier attempt handed it over: asked before it is sent again, since its answer may have been lost; throws PageFailed. Absent: it cannot be asked. */
  find?(page: PageToSend, context: SendContext): Promise<SendResult | undefined>;
}
