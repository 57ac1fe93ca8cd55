import { hash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { Principal } from '../../../../../identity/principal.ts';
import type { App } from '../../../../../kernel/app.ts';
import type { ByteBudget, FairSemaphore } from '../../../../../kernel/fairness/index.ts';
import { chainPieces, type Message, unusableMessage } from '../../../../../kernel/smtp/index.ts';
import { showMailbox } from '../../../rules/address.ts';
import { foldAddress } from '../../../rules/envelope.ts';
import { endOfHeader, headerLimits, Malformed } from '../../../rules/header.ts';
import { type ReadMessage, readMessage } from '../../engine/read-message.ts';
import { requireSendingDomain, type SendingDomains } from '../../engine/sender-authorization.ts';
import type { Content, Intake, Submission } from '../../engine/submission.ts';

export interface SubmissionContext {
  app: App;
  /** Large messages in flight. Others stay in the socket buffers, so their clients wait too. */
  largeMessages: FairSemaphore;
  /** Bytes of messages in memory, by organization. */
  memoryBudget: ByteBudget;
  intake: Intake;
  domains: SendingDomains;
  /** Called for every used send key, for `lastUsedAt`. */
  used(keyId: string): void;
}

/** Larger messages are streamed to storage while they arrive. */
export const maxInMemoryBytes = 262_144;

/** Bounds the buffers of streamed messages. A client waits at least three minutes (RFC 5321, 4.5.3.2), so 150 s in the queue is safe.
 *  A slow client holds its slot for long; the limit per organization keeps one tenant from taking all of them. */
export const largeMessageLimits = { slots: 32, perOrg: 4, waitMs: 150_000 };

/** Accepts one message. Resolves with its id once it is on disk and in the log. */
export async function receiveMessage(
  { intake, domains, largeMessages, used }: SubmissionContext,
  principal: Principal,
  envelope: string[],
  { pieces, rest }: Message,
): Promise<string> {
  used(principal.id);
  let content: Content | undefined;
  try {
    const { bytes, header, body } = splitHeader(pieces);
    const message = readMessage(header);
    if (message instanceof Malformed) throw unusableMessage(message.why);
    const domain = await requireSendingDomain(domains, principal, message.from.domain);
    for (const other of message.alsoFrom) if (other !== message.from.domain) await requireSendingDomain(domains, principal, other);
    content = rest
      ? { stream: Readable.from(chainPieces([message.header, body], rest), { objectMode: false, highWaterMark: 1 }) }
      : message.header === header
        ? bytes
        : Buffer.concat([message.header, body]);
    const submission = describe(principal, domain.id, envelope, message, content);
    const take = () => intake.accept({ submissions: [submission], ...idempotencyOf(message, submission) });
    const { messages } = Buffer.isBuffer(content) ? await take() : await largeMessages.run(submission.org, take);
    return messages[0]!.id;
  } finally {
    if (content && !Buffer.isBuffer(content)) content.stream.destroy(); // after a failure nothing reads the rest
  }
}

/** The header must be within the bytes in memory; otherwise it is too large. */
function splitHeader(pieces: Buffer[]): { bytes: Buffer; header: Buffer; body: Buffer } {
  const [first, ...others] = pieces.splice(0); // frees the caller's references
  const bytes = first && others.length === 0 ? first : Buffer.concat([...(first ? [first] : []), ...others]);
  const end = endOfHeader(bytes);
  const header = end < 0 ? bytes : bytes.subarray(0, end);
  if (header.length > headerLimits.bytes) throw unusableMessage(`the header is larger than ${headerLimits.bytes} bytes`);
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
 * A retrying client composes the message again, with a new date, id and boundaries. So sender, recipients and subject decide whether two
 * messages are the same.
 */
function idempotencyOf({ idempotencyKey, from, subject }: ReadMessage, { envelope }: Submission) {
  if (idempotencyKey === undefined) return {};
  const same = JSON.stringify(['smtp', from.address, subject ?? null, envelope.map(foldAddress).sort()]);
  return { idempotency: { key: idempotencyKey, fingerprint: hash('sha256', same, 'buffer') } };
}
