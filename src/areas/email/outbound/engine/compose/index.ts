import { randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import MailComposer from 'nodemailer/lib/mail-composer';
import { wallClock } from '../../../../../kernel/wall-clock.ts';
import type { Mailbox } from '../../../rules/address.ts';
import { type Draft, refuseTooLarge } from './check.ts';
import { decodeBase64, isLarge, pieceByPiece, sliceText, withLineEnds } from './slices.ts';

export { checkDraft, type Draft, type EmailSend } from './check.ts';

export interface Composed {
  content: Buffer;
  /** With the angle brackets. */
  messageId: string;
}

/** Composes the MIME message. Bcc is never in it; no file or URL is read. `date`: the scheduled time, if any. */
export async function composeMessage(
  draft: Draft,
  { where = '', date = wallClock() }: { where?: string; date?: Date | undefined } = {},
): Promise<Composed> {
  const messageId = `<${randomUUID()}@${draft.from.domain}>`;
  const attachments = await Promise.all(draft.attachments.map((each, i) => attach(each, `${where}attachments.${i}.content`)));
  const composer = new MailComposer({
    from: written(draft.from),
    to: draft.to.map(written),
    ...(draft.cc.length ? { cc: draft.cc.map(written) } : {}),
    ...(draft.replyTo.length ? { replyTo: draft.replyTo.map(written) } : {}),
    subject: draft.subject,
    ...(draft.text ? { text: writeText(draft.text) } : {}),
    ...(draft.html ? { html: writeText(draft.html) } : {}),
    headers: draft.headers.map(([key, value]) => ({ key, value })),
    attachments,
    messageId,
    date,
    disableFileAccess: true,
    disableUrlAccess: true,
  } as ConstructorParameters<typeof MailComposer>[0]);
  const content = await composer.compile().build();
  refuseTooLarge(content.length, where);
  return { content, messageId };
}

/** Already parsed, so that the composer does not parse it again. */
const written = ({ name, address }: Mailbox) => ({ name, address });

/** A large text is encoded slice by slice. */
const writeText = (text: string): string | { content: Readable; contentTransferEncoding: string } =>
  isLarge(text) ? { content: pieceByPiece(sliceText(text)), contentTransferEncoding: 'base64' } : withLineEnds(text);

async function attach({ filename, content, contentType, contentId }: Draft['attachments'][number], field: string) {
  const pieces = await decodeBase64(content, field);
  return {
    filename,
    content: pieces.length > 1 ? pieceByPiece(pieces) : (pieces[0] ?? Buffer.alloc(0)),
    contentTransferEncoding: 'base64' as const,
    ...(contentType === undefined ? {} : { contentType }),
    ...(contentId === undefined ? {} : { cid: contentId }),
  };
}
