import MailComposer from 'nodemailer/lib/mail-composer/index.js';
import type { App } from '../../../../kernel/app.ts';
import type { RetryAdvice } from '../../../../kernel/errors.ts';
import { headerIdOf, type Mail, type Message, NotDelivered } from '../../../../kernel/mail.ts';
import { makeIds, now } from '../../../../kernel/time.ts';
import { domainOf, foldAddress } from '../../rules/envelope.ts';
import { makeBodyHash } from '../clients/dkim.ts';
import * as store from '../store/own-mail.ts';
import type { Outcome, Outgoing, Sender } from './outgoing.ts';
import { signMessage } from './queue/content.ts';
import type { LoadSigning } from './queue/types.ts';

/** The sender's domain is read again this often. */
const domainPollMs = 5_000;

export interface OwnMailOptions {
  app: App;
  /** A separate sender: pages have connections that tenants' mail cannot use. */
  sender: Sender;
  loadSigning: LoadSigning;
  returnPath(recipient: number, messageId: string, domain: string): string;
  hostname: string;
  isRelayed: boolean;
}

/**
 * The product's own mail (pages, subscriptions), once the domain of its sender is verified here. Each `deliver` is one signed attempt; the caller
 * retries. The mail is in the log of the organization it is for, without its content, since its links log people in. No quota counts it,
 * and no pause stops it.
 */
export async function openOwnMail(options: OwnMailOptions): Promise<Mail & { stop(): void }> {
  const { app } = options;
  const from = app.config.mail_from;
  const name = /@([^\s>]+)/.exec(from)?.[1]?.toLowerCase();
  let domain: store.OwnDomainRow | undefined;
  const look = async () => {
    if (name) domain = await app.db.read((tx) => store.findOwnDomain(tx, name));
  };
  await look();
  const timer = setInterval(() => look().catch(() => {}), domainPollMs).unref();
  return {
    leaves: () => domain !== undefined,
    look: () => look().then(() => domain !== undefined),
    deliver: (message) => attempt(options, from, domain!, message),
    stop: () => clearInterval(timer),
  };
}

async function attempt(options: OwnMailOptions, from: string, domain: store.OwnDomainRow, message: Message): Promise<{ response: string }> {
  const { app, sender, isRelayed } = options;
  const headerId = headerIdOf(message.id, from);
  const key = `own ${message.id}`;
  const { recipientId, at, known } = await app.db.read(async (tx) => ({
    recipientId: await store.nextRecipientId(tx),
    at: await now(tx),
    known: await store.findAttempted(tx, message.org, key),
  }));
  // The id of an earlier attempt's message, or a new one: the return path names it.
  const messageId = known ?? makeIds('msg', at, 1)[0]!;
  const raw = await compose(from, message, headerId, at);
  const outgoing = await makeOutgoing(options, domain, message, { recipientId, messageId, at, raw });
  const outcome = await sender.send(outgoing);
  const attempted = {
    org: message.org,
    key,
    messageId,
    domainId: domain.id,
    recipientId,
    sender: from,
    headerId,
    bytes: raw.length,
    address: message.to,
    folded: foldAddress(message.to),
    subject: message.subject,
    ...attemptResultOf(outcome, isRelayed),
  };
  // A failed log write must not make the caller send the message again.
  await app.db
    .write((tx) => store.recordAttempt(tx, attempted))
    .catch((error) => app.log.warn({ err: error, mail: message.id }, 'the product’s own mail is not in the log'));
  if (outcome.kind === 'delivered') return { response: outcome.serverReply.response };
  const { mx, response } = outcome.serverReply;
  throw new NotDelivered(`the message for ${message.to} was not taken${mx ? ` by ${mx}` : ''}: ${response}`, retryAdviceOf(outcome));
}

/** Only a refusal of the recipient is final. After a full mailbox, a policy or a block list the next attempt may succeed. */
const retryAdviceOf = (outcome: Outcome): RetryAdvice =>
  outcome.kind !== 'bounced' ? 'for now' : outcome.bounceType === 'hard' ? 'for good' : 'until mended';

const compose = (from: string, { to, subject, text, html, headers }: Message, messageId: string, at: string): Promise<Buffer> =>
  new MailComposer({
    from,
    to,
    subject,
    text,
    headers,
    messageId,
    date: new Date(at),
    ...(html === undefined ? {} : { html }),
    newline: '\r\n',
    disableFileAccess: true,
    disableUrlAccess: true,
  })
    .compile()
    .build();

async function makeOutgoing(
  { loadSigning, returnPath, hostname }: OwnMailOptions,
  domain: store.OwnDomainRow,
  message: Message,
  { recipientId, messageId, at, raw }: { recipientId: number; messageId: string; at: string; raw: Buffer },
): Promise<Outgoing> {
  const headerBytes = raw.indexOf('\r\n\r\n') + 4;
  const hash = makeBodyHash();
  hash.update(raw.subarray(headerBytes));
  const signing = await loadSigning(domain.id);
  if (!signing)
    throw new NotDelivered(`the domain ${domain.name} was deleted here; register it again, or set QUARTERDECK_SMTP_RELAY`, 'until mended');
  const head = await signMessage({
    signing,
    hostname,
    id: message.id,
    at: new Date(at),
    header: raw.subarray(0, headerBytes),
    bodyHash: hash.digest(),
  });
  return {
    org: message.org,
    messageId: message.id,
    address: message.to,
    domain: domainOf(message.to).toLowerCase(),
    returnPath: returnPath(recipientId, messageId, domain.name),
    tries: 0,
    bytes: raw.length,
    content: async () => ({ head, body: raw }),
  };
}

function attemptResultOf(outcome: Outcome, isRelayed: boolean): Pick<store.OwnAttempt, 'state' | 'error' | 'bounceType' | 'detail'> {
  const detail = { ...outcome.serverReply };
  const error = outcome.serverReply.response.slice(0, 1_000).toWellFormed();
  if (outcome.kind === 'delivered') return { state: isRelayed ? 'sent' : 'delivered', error: null, bounceType: null, detail };
  if (outcome.kind === 'bounced')
    return { state: 'bounced', error, bounceType: outcome.bounceType, detail: { ...detail, class: outcome.class } };
  return { state: 'deferred', error, bounceType: null, detail };
}
