/** What one message may be, by whichever door it comes. */
export const limits = {
  /** The whole message as it is stored. */
  bytes: 25 * 1024 * 1024,
  /** Over To, Cc and Bcc. */
  recipients: 50,
  subject: 998,
  /** RFC 5322, 2.1.1: what every server takes in one line. */
  line: 998,
  scheduleDays: 30,
  idempotencyKey: 256,
} as const;

/** Header fields that the platform writes itself, or that say to whom and from whom a message is: there is a field for each, or a reason. */
const platformHeaders: ReadonlySet<string> = new Set([
  'from',
  'sender',
  'to',
  'cc',
  'bcc',
  'reply-to',
  'subject',
  'date',
  'message-id',
  'return-path',
  'received',
  'delivered-to',
  'envelope-to',
  'x-original-to',
  'errors-to',
  'mime-version',
  'x-idempotency-key',
]);
const platformFamilies = /^(?:content-|resent-)/;

/** Signatures, and verdicts on them: the platform makes both itself, so one that a sender brings along can only mislead. */
export const isVerdictHeader = (name: string): boolean =>
  /^(?:authentication-results|dkim-signature|domainkey-signature|received-spf)$|^(?:arc-|x-quarterdeck-)/.test(name.toLowerCase());

export const isPlatformHeader = (name: string): boolean =>
  platformHeaders.has(name.toLowerCase()) || platformFamilies.test(name.toLowerCase()) || isVerdictHeader(name);

/** RFC 5322, 3.6.8: visible ASCII without a colon. */
export const isHeaderName = (name: string): boolean => /^[!-9;-~]{1,76}$/.test(name);
