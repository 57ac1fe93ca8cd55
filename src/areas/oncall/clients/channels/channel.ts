import type { App } from '../../../../kernel/app.ts';

export type ChannelName = 'email' | 'sms' | 'voice';

/** One page on its way to one person. */
export interface PageToSend {
  id: string;
  org: string;
  incident: { id: string; title: string; serviceName: string; description?: string };
  user: { id: string; label: string; email: string };
  channel: ChannelName;
  /** The mailbox or the phone, as it was when the step fired; absent when the person had given none. */
  address: string | undefined;
  /** Four digits that a reply names. */
  code: string;
  /** 1 the first time. */
  attempt: number;
  /** When it was first handed to the channel. */
  sendingAt: string;
  /** Where the person acknowledges with one press. */
  ackUrl: string;
}

export interface Sent {
  /** The provider's own name for it. */
  providerId?: string;
  state: 'sent' | 'delivered';
}

/** The page did not leave, and why. `permanent`: trying again will not help, so the person's next rule fires at once. */
export class PageFailed extends Error {
  readonly permanent: boolean;

  constructor(sentence: string, permanent: boolean, options?: { cause?: unknown }) {
    super(sentence, options);
    this.name = 'PageFailed';
    this.permanent = permanent;
  }
}

export interface Channel {
  /** Hands one page over; throws PageFailed. */
  send(app: App, page: PageToSend): Promise<Sent>;
  /** Whether an earlier attempt handed it over: asked before it is sent again, since its answer may have been lost. */
  find(app: App, page: PageToSend): Promise<Sent | undefined>;
}
