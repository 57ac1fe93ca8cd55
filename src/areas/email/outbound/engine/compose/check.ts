import type { Body } from '../../../../../../contract/common.ts';
import type { email } from '../../../../../../contract/email.ts';
import { invalid, Refusal } from '../../../../../kernel/errors.ts';
import { InvalidAddress, isSafeText, type Mailbox, readMailbox } from '../../../rules/address.ts';
import { foldAddress } from '../../../rules/envelope.ts';
import { isHeaderName, isPlatformHeader, limits } from '../../../rules/limits.ts';

export type EmailSend = Body<typeof email.sendEmail>;

/** A checked message: every address parsed, no header injection possible. */
export interface Draft {
  from: Mailbox;
  to: Mailbox[];
  cc: Mailbox[];
  replyTo: Mailbox[];
  /** Recipients, each once. */
  envelope: string[];
  subject: string;
  html: string;
  text: string;
  headers: [name: string, value: string][];
  attachments: { filename: string; content: string; contentType: string | undefined; contentId: string | undefined }[];
}

/** Checks a request body. `where` is its path in error messages, such as `messages.3.`. */
export function checkDraft(body: EmailSend, where = ''): Draft {
  const from = checkMailbox(body.from, `${where}from`);
  const lists = { to: body.to, cc: body.cc ?? [], bcc: body.bcc ?? [], replyTo: body.replyTo ?? [] };
  const read = (list: keyof typeof lists) => lists[list].map((each, i) => checkMailbox(each, `${where}${list}.${i}`));
  const { length } = [...lists.to, ...lists.cc, ...lists.bcc];
  if (length > limits.recipients)
    invalid(`${where}to, cc and bcc have ${length} recipients together; at most ${limits.recipients} are taken: send several messages`);
  const to = read('to');
  const cc = read('cc');
  const envelope = [...new Map([...to, ...cc, ...read('bcc')].map(({ address }) => [foldAddress(address), address])).values()];
  if (!isSafeText(body.subject)) invalid(`${where}subject must not contain line breaks or control characters`);
  if (!body.html && !body.text) invalid(`${where}html or ${where}text is required`);
  const draft: Draft = {
    from,
    to,
    cc,
    replyTo: read('replyTo'),
    envelope,
    subject: body.subject,
    html: body.html ?? '',
    text: body.text ?? '',
    headers: checkHeaders(body.headers ?? {}, where),
    attachments: (body.attachments ?? []).map((each, i) => checkAttachment(each, `${where}attachments.${i}`)),
  };
  refuseTooLarge(leastBytes(draft), where);
  return draft;
}

function checkMailbox(written: string, field: string): Mailbox {
  const mailbox = readMailbox(written);
  return mailbox instanceof InvalidAddress ? invalid(`${field} ${mailbox.why}`) : mailbox;
}

function checkHeaders(headers: Record<string, string>, where: string): [string, string][] {
  const seen = new Set<string>();
  return Object.entries(headers).map(([name, value]) => {
    if (!isHeaderName(name)) invalid(`${where}headers has a name that is none: use visible ASCII characters without a colon, at most 76`);
    if (isPlatformHeader(name)) invalid(`${where}headers.${name} is set by the platform, or by a field of its own; leave it out`);
    if (seen.has(name.toLowerCase())) invalid(`${where}headers.${name} is given twice, in other letter case`);
    seen.add(name.toLowerCase());
    if (!isSafeText(value)) invalid(`${where}headers.${name} must not contain line breaks or control characters`);
    // Values are folded at spaces; a piece without one stays on its line.
    if (value.split(/\s/).some((piece) => piece.length >= 900))
      invalid(`${where}headers.${name} must not have 900 characters without a space`);
    return [name, value];
  });
}

type SentAttachment = NonNullable<EmailSend['attachments']>[number];
const mediaType =
  /^[\w!#$&^.+-]{1,100}\/[\w!#$&^.+-]{1,100}(?:\s*;\s*[\w!#$&^.+-]{1,100}=(?:[\w!#$&^.+/:-]{1,200}|"[\w !#$&'()*+,./:;<=>?@[\]^`{|}~-]{0,200}"))*$/;

function checkAttachment({ filename, content, contentType, contentId }: SentAttachment, field: string): Draft['attachments'][number] {
  if (!isSafeText(filename)) invalid(`${field}.filename must not contain line breaks or control characters`);
  if (contentType !== undefined && !mediaType.test(contentType))
    invalid(`${field}.contentType must be a media type such as application/pdf`);
  if (contentType !== undefined && /^(?:multipart|message)\//i.test(contentType))
    invalid(`${field}.contentType must not be ${contentType.split('/')[0]}/…: send it as application/octet-stream`);
  if (contentId !== undefined && !/^[\w!#$%&'*+/=?^`{|}~.@-]+$/.test(contentId))
    invalid(`${field}.contentId must have only letters, digits and characters such as . - _ @`);
  return { filename, content, contentType, contentId };
}

/** A lower bound of the composed size: attachments stay base64. */
const leastBytes = ({ html, text, attachments }: Draft): number =>
  html.length + text.length + attachments.reduce((sum, { content }) => sum + content.length, 0);

export function refuseTooLarge(bytes: number, where = ''): void {
  if (bytes <= limits.bytes) return;
  const name = where ? `the message at ${where.slice(0, -1)}` : 'the message';
  throw new Refusal(413, 'too_large', `${name} would be larger than 25 MB; send less, or a link to it`);
}
