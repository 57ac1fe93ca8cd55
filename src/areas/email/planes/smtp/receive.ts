import { hash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { SMTPServerDataStream } from 'smtp-server';
import type { Principal } from '../../../../identity/principal.ts';
import type { App } from '../../../../kernel/app.ts';
import type { HeldBytes, Turnstile } from '../../../../kernel/shares/index.ts';
import { Reply } from '../../../../kernel/smtp/index.ts';
import { requireDomain, type SendingDomains } from '../../engine/may-send.ts';
import { type ReadMessage, readMessage } from '../../engine/read-message.ts';
import type { Content, Intake, Submission } from '../../engine/submission.ts';
import { showMailbox } from '../../rules/address.ts';
import { foldAddress } from '../../rules/envelope.ts';
import { endOfHeader, headerLimits, Malformed } from '../../rules/header.ts';
import { limits } from '../../rules/limits.ts';
import { watchLineEnds } from '../../rules/line-ends.ts';

export interface Receiving {
  app: App;
  /** Large messages that come in at once; the others wait where they are, and their clients with them. */
  large: Turnstile;
  intake: Intake;
  domains: SendingDomains;
  /** Told of every send key that is used, for `lastUsedAt`. */
  used(keyId: string): void;
}

/** Larger ones are handed on while they come in. */
const gatheredBytes = 262_144;

/** So many of them at once, so that what lies in buffers on the way stays little; a client waits three minutes at least (RFC 5321, 4.5.3.2). */
export const largeShares = { slots: 8, perOrg: 4, waitMs: 150_000 };

/** Takes one message in: answers its id once it is on disk and in the log. */
export async function receiveMessage(
  { app, intake, domains, large, used }: Receiving,
  principal: Principal,
  envelope: string[],
  stream: SMTPServerDataStream,
): Promise<string> {
  used(principal.id);
  const held = app.bodies.open({ org: principal.org.id, credential: principal.id });
  const pieces = checkPieces(stream);
  let content: Content | undefined;
  try {
    const first = await readUntilHeaderEnds(pieces, held);
    const message = readMessage(first.header);
    if (message instanceof Malformed) throw unusable(message.why);
    const domain = await requireDomain(domains, principal, message.from.domain);
    for (const other of message.alsoFrom) if (other !== message.from.domain) await requireDomain(domains, principal, other);
    content = await gather(message.header, first.body, pieces, held);
    const submission = describe(principal, domain.id, envelope, message, content);
    const take = () => intake.take({ submissions: [submission], ...idempotencyOf(message, submission) });
    const { messages } = Buffer.isBuffer(content) ? await take() : await large.pass(submission.org, take);
    return messages[0]!.id;
  } finally {
    held.end();
    if (content && !Buffer.isBuffer(content)) content.stream.destroy(); // whoever did not read it to its end will not come back
    await pieces.return(undefined);
  }
}

const unusable = (why: string) => new Reply(554, '5.6.0', why);

/** The message as it comes, each piece looked at before it is used. What goes wrong here goes wrong for whoever reads on. */
async function* checkPieces(stream: SMTPServerDataStream): AsyncGenerator<Buffer, undefined, undefined> {
  const lines = watchLineEnds();
  let bytes = 0;
  for await (const piece of stream.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > limits.bytes) throw new Reply(552, '5.3.4', `the message is larger than ${limits.bytes} bytes`);
    const why = lines.look(piece);
    if (why) throw unusable(why);
    yield piece;
  }
  const why = lines.end();
  if (why) throw unusable(why);
}

const keep = (held: HeldBytes, piece: Buffer): Buffer => {
  if (held.take(piece.length)) return piece;
  throw new Reply(451, '4.3.1', 'too many bytes of yours are on their way here at once; send this again in a moment');
};

/** The header, and what came behind it already. */
async function readUntilHeaderEnds(pieces: AsyncGenerator<Buffer>, held: HeldBytes): Promise<{ header: Buffer; body: Buffer }> {
  let bytes: Buffer = Buffer.alloc(0);
  for (;;) {
    const { value, done } = await pieces.next();
    const looked = bytes.length;
    if (!done) bytes = Buffer.concat([bytes, keep(held, value)]);
    const end = endOfHeader(bytes, looked);
    if (end < 0 && done) return { header: bytes, body: Buffer.alloc(0) };
    if ((end < 0 ? bytes.length : end) > headerLimits.bytes) throw unusable(`the header is larger than ${headerLimits.bytes} bytes`);
    if (end >= 0) return { header: bytes.subarray(0, end), body: bytes.subarray(end) };
  }
}

async function gather(header: Buffer, body: Buffer, pieces: AsyncGenerator<Buffer>, held: HeldBytes): Promise<Content> {
  const gathered = [header, body];
  let bytes = header.length + body.length;
  while (bytes <= gatheredBytes) {
    const { value, done } = await pieces.next();
    if (done) return Buffer.concat(gathered);
    gathered.push(keep(held, value));
    bytes += value.length;
  }
  return { stream: Readable.from(chain(gathered, pieces), { objectMode: false, highWaterMark: 65_536 }) };
}

/** What was gathered is let go of as it is handed on: the rest may take minutes. */
async function* chain(first: Buffer[], rest: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  for (let piece = first.shift(); piece; piece = first.shift()) yield piece;
  yield* rest;
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
