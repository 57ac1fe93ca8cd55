/** Limits of one submitted message, the same for HTTP and SMTP. */
export const limits = {
  /** Size of the stored message. */
  bytes: 25 * 1024 * 1024,
  /** Over To, Cc and Bcc. */
  recipients: 50,
  subject: 998,
  /** RFC 5322, 2.1.1: what every server takes in one line. */
  line: 998,
  scheduleDays: 30,
  idempotencyKey: 256,
} as const;

/** Header fields that the platform writes, or that have a request field of their own. */
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

/** Signatures and authentication results. The platform writes these, so one from a sender can only mislead. */
export const isVerdictHeader = (name: string): boolean =>
  /^(?:authentication-results|dkim-signature|domainkey-signature|received-spf)$|^(?:arc-|x-quarterdeck-)/.test(name.toLowerCase());

export const isPlatformHeader = (name: string): boolean =>
  platformHeaders.has(name.toLowerCase()) || platformFamilies.test(name.toLowerCase()) || isVerdictHeader(name);

/** RFC 5322, 3.6.8: visible ASCII without a colon. */
export const isHeaderName = (name: string): boolean => /^[!-9;-~]{1,76}$/.test(name);
