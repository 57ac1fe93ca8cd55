import type { RetryAdvice } from '../../../../kernel/errors.ts';
import type { ChannelName } from '../../rules/channels.ts';
import type { PageContent } from '../../rules/page-mail.ts';
import type { Account } from '../twilio/client.ts';

/** One page to one person. */
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
  /** Pages about this incident that the limits held back since the person's last page. */
  heldBack: number;
  /** Text beyond the incident itself; present in a page to the acknowledger. */
  about?: string;
  /** 1 the first time. */
  attempt: number;
  /** Time of the first attempt. */
  sendingAt: string;
  /** The link that acknowledges with one press. */
  ackUrl: string;
  /** Its person asked for it, and there is no incident. */
  isTest?: true;
}

export interface ProviderAccount extends Account {
  fromNumber: string;
}

/** Inputs of a channel beside the page, looked up anew for each attempt. */
export interface SendContext {
  /** The organization's account for SMS and calls. */
  account: ProviderAccount | undefined;
  /** The provider ids among these that already belong to a page. */
  claimedIds(providerIds: readonly string[]): Promise<ReadonlySet<string>>;
  /** The firing alerts, for a channel with space to list them. */
  loadAlerts(): Promise<Pick<PageContent, 'alerts' | 'moreAlerts'>>;
}

export interface SendResult {
  /** The provider's id of the message or call. */
  providerId?: string;
  state: 'sent' | 'delivered';
}

/** The channel did not send the page; the message says why. */
export class PageFailed extends Error {
  /** After `for good` and `until mended` the person's next rule fires at once. After `until mended` and `for now` this page is retried. */
  readonly retryAdvice: RetryAdvice;
  /** The provider refused the organization's account, not this page; its message. */
  readonly accountRefused: string | undefined;

  constructor(sentence: string, retryAdvice: RetryAdvice, { cause, accountRefused }: { cause?: unknown; accountRefused?: string } = {}) {
    super(sentence, { cause });
    this.name = 'PageFailed';
    this.retryAdvice = retryAdvice;
    this.accountRefused = accountRefused;
  }
}

/** Sentences beyond the incident: the news, and how many pages were held back. */
export const extraSentences = ({ heldBack, about }: Pick<PageToSend, 'heldBack' | 'about'>): string[] => [
  ...(about ? [`${about}.`] : []),
  ...(heldBack
    ? [`${heldBack} further ${heldBack > 1 ? 'pages' : 'page'} about this incident ${heldBack > 1 ? 'were' : 'was'} held back.`]
    : []),
];

/** A channel's sender. Callers check the needs listed in rules/channels.ts first. */
export interface Channel {
  /** Sends one page; throws PageFailed. */
  send(page: PageToSend, context: SendContext): Promise<SendResult>;
  /**
   * Looks up an earlier attempt whose answer may be lost, before the page is sent again; throws PageFailed. Absent: the channel has no
   * lookup.
   */
  find?(page: PageToSend, context: SendContext): Promise<SendResult | undefined>;
}
