import { hash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { Principal } from '../../../../identity/principal.ts';
import type { App } from '../../../../kernel/app.ts';
import type { ByteBudget, FairSemaphore } from '../../../../kernel/fairness/index.ts';
import { chainPieces, type Message, unusable } from '../../../../kernel/smtp/index.ts';
import { requireSendingDomain, type SendingDomains } from '../../engine/sender-authorization.ts';
import { type ReadMessage, readMessage } from '../../engine/read-message.ts';
import type { Content, Intake, Submission } from '../../engine/submission.ts';
import { showMailbox } from '../../rules/address.ts';
import { foldAddress } from '../../rules/envelope.ts';
import { endOfHeader, headerLimits, Malformed } from '../../rules/header.ts';

export interface Receiving {
  app: App;
  /** Large messages that come in at once; the others wait where they are, and their clients with them. */
  large: FairSemaphore;
  /** What is gathered of messages, in whose name. */
  held: ByteBudget;
  intake: Intake;
  domains: SendingDomains;
  /** Told of every send key that is used, for `lastUsedAt`. */
  used(keyId: string): void;
}

/** Larger ones are handed on while they come in. */
export const gatheredBytes = 262_144;

/** So many of them at once, so that what lies in buffers on the way stays little; a client waits three minutes at least (RFC 5321, 4.5.3.2).
 *  They last as long as their senders like: so it takes many organizations to have them all. */
export const largeShares = { slots: 32, perOrg: 4, waitMs: 150_000 };

/** Takes one message in: answers its id once it is on disk and in the log. */
export async function receiveMessage(
  { intake, domains, large, used }: Receiving,
  principal: Principal,
  envelope: string[],
  { pieces, rest }: Message,
): Promise<string> {
  used(principal.id);
  let content: Content | undefined;
  try {
    const { bytes, header, body } = cutHeader(pieces);
    const message = readMessage(header);
    if (message instanceof Malformed) throw unusable(message.why);
    const domain = await requireSendingDomain(domains, principal, message.from.domain);
    for (const other of message.alsoFrom) if (other !== message.from.domain) await requireSendingDomain(domains, principal, other);
    content = rest
      ? { stream: Readable.from(chainPieces([message.header, body], rest), { objectMode: false, highWaterMark: 1 }) }
      : message.header === header
        ? bytes
        : Buffer.concat([message.header, body]);
    const submission = describe(principal, domain.id, envelope, message, content);
    const take = () => intake.accept({ submissions: [submission], ...idempotencyOf(message, submission) });
    const { messages } = Buffer.isBuffer(content) ? await take() : await large.run(submission.org, take);
    return messages[0]!.id;
  } finally {
    if (content && !Buffer.isBuffer(content)) content.stream.destroy(); // whoever did not read it to its end will not come back
  }
}

/** The header is in what was gathered, or too large. */
function cutHeader(pieces: Buffer[]): { bytes: Buffer; header: Buffer; body: Buffer } {
  const [first, ...others] = pieces.splice(0); // nobody holds them twice
  const bytes = first && others.length === 0 ? first : Buffer.concat([...(first ? [first] : []), ...others]);
  const end = endOfHeader(bytes);
  const header = end < 0 ? bytes : bytes.subarray(0, end);
  if (header.length > headerLimits.bytes) throw unusable(`the header is larger than ${headerLimits.bytes} bytes`);
  return { bytes, header, body: bytes.subarray(header.length) };
}

const describe = (principal: Principal, domainId: string, envelope: string[], message: ReadMessage, content: Content): Submission => ({
  org: principal.org.id,
  door: 'smtp',
  sendKeyId: principal.id,
  domainId,
  sender: showMailbox(message.from),
  recipients: message.to,
  copies: message.cc,
  ...(message.subject === undefined ? {} : { subject: message.subject }),
  messageId: message.messageId,
  envelope,
  content,
});

/**
 * A client that sends again composes again: date, id and boundaries are new. So a message counts as the same if it has the same sender,
 * recipients and subject.
 */
function idempotencyOf({ idempotencyKey, from, subject }: ReadMessage, { envelope }: Submission) {
  if (idempotencyKey === undefined) return {};
  const same = JSON.stringify(['smtp', from.address, subject ?? null, envelope.map(foldAddress).sort()]);
  return { idempotency: { key: idempotencyKey, fingerprint: hash('sha256', same, 'buffer') } };
}
