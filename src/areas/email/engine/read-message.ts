import { randomUUID } from 'node:crypto';
import addressparser from 'nodemailer/lib/addressparser';
import { wallClock } from '../../../kernel/wall-clock.ts';
import { type Mailbox, readAddress, readMailbox, showMailbox, Unusable } from '../rules/address.ts';
import { decodeWords, type HeaderField, Malformed, readHeader, readValue, showable } from '../rules/header.ts';
import { isVerdictHeader, limits } from '../rules/limits.ts';

/** What a header says that somebody else composed, and the header that goes on instead of it. */
export interface ReadMessage {
  from: Mailbox;
  /** Domains of those who say that they sent it, or sent it again, beside From. */
  alsoFrom: string[];
  /** For the log. */
  to: string[];
  cc: string[];
  subject: string | undefined;
  messageId: string;
  idempotencyKey: string | undefined;
  /** With the empty line at its end; the bytes that came, if nothing is to be changed. */
  header: Buffer;
}

/** RFC 5322, 3.6: two of them, and every reader takes another one. */
const singletonHeaders: ReadonlySet<string> = new Set([
  'from',
  'sender',
  'reply-to',
  'to',
  'cc',
  'subject',
  'date',
  'message-id',
  'x-idempotency-key',
]);
/** What stays here: it says to whom it also goes, or is ours to say. */
const removedHeaders: ReadonlySet<string> = new Set(['bcc', 'resent-bcc', 'return-path', 'x-idempotency-key']);

/** Reads the header of a message that is handed in by SMTP; completes it, and takes out what must not go on. */
export function readMessage(bytes: Buffer): ReadMessage | Malformed {
  const fields = readHeader(bytes.toString('latin1'));
  if (fields instanceof Malformed) return fields;
  const seen = new Map<string, string>();
  for (const field of fields) {
    if (isVerdictHeader(field.name))
      return new Malformed(`the header has ${field.name}, which the platform writes itself; send the message without it`);
    if (!singletonHeaders.has(field.name)) continue;
    if (seen.has(field.name)) return new Malformed(`the header has two fields named ${field.name}; one is allowed`);
    seen.set(field.name, readValue(field));
  }
  const from = readFrom(seen.get('from'));
  if (from instanceof Malformed) return from;
  const alsoFrom = readOtherSenders(fields);
  if (alsoFrom instanceof Malformed) return alsoFrom;
  const idempotencyKey = seen.get('x-idempotency-key');
  if (idempotencyKey !== undefined && !isIdempotencyKey(idempotencyKey))
    return new Malformed(`X-Idempotency-Key must be 1 to ${limits.idempotencyKey} visible ASCII characters`);
  const named = seen.get('message-id') ?? '';
  const hasName = /^<[!-;=?-~]{1,900}>$/.test(named);
  const messageId = hasName ? named : `<${randomUUID()}@${from.domain}>`;
  const subject = seen.get('subject');
  return {
    from,
    alsoFrom,
    to: readList(seen.get('to')),
    cc: readList(seen.get('cc')),
    subject: subject === undefined ? undefined : showable(decodeWords(subject), limits.subject),
    messageId,
    idempotencyKey,
    header: writeHeader(bytes, fields, { messageId: hasName ? undefined : messageId, hasDate: seen.has('date') }),
  };
}

export const isIdempotencyKey = (key: string): boolean => key.length <= limits.idempotencyKey && /^[!-~]+$/.test(key);

/** RFC 5322, 3.6.2 and 3.6.6: programs show these as who sent it. */
const otherSenders: ReadonlySet<string> = new Set(['sender', 'resent-from', 'resent-sender']);
/** Sent again more often than this it is not by anybody who composes mail. */
const maxOtherSenders = 10;

function readOtherSenders(fields: HeaderField[]): string[] | Malformed {
  const named = fields.filter(({ name }) => otherSenders.has(name));
  if (named.length > maxOtherSenders) return new Malformed(`the header names more than ${maxOtherSenders} senders beside From`);
  const domains = new Set<string>();
  for (const field of named) {
    const mailbox = readFrom(readValue(field), field.name);
    if (mailbox instanceof Malformed) return mailbox;
    domains.add(mailbox.domain);
  }
  return [...domains];
}

/** One address, in one way of reading it: whose domain it is decides who may send it. */
function readFrom(value: string | undefined, name = 'From'): Mailbox | Malformed {
  if (value === undefined) return new Malformed('the header has no From');
  // `ada@example.com (Ada)` is how names were written before 1982; some programs still do.
  const mailbox = readMailbox(value.replace(/^([^\s<>"()]+) +\(([^()<>"\\]*)\)$/, '$1'));
  if (mailbox instanceof Unusable) return new Malformed(`${name} ${mailbox.why}`);
  return { ...mailbox, name: showable(decodeWords(mailbox.name), limits.subject) };
}

/** Four times as many pieces as addresses are shown: of thousands, the parser would take a twentieth of a second for each message. */
const addressListHead = /^(?:[^,;:<]*[,;:<]){0,200}[^,;:<]*/;

/** Addresses of To or Cc for the log, which is not where the message goes: what cannot be read is shown as it came. */
function readList(value: string | undefined): string[] {
  if (!value) return [];
  const only = readMailbox(value);
  if (!(only instanceof Unusable)) return [showable(showMailbox({ ...only, name: decodeWords(only.name) }), limits.line)];
  return addressparser(addressListHead.exec(value.slice(0, 16_384))![0], { flatten: true })
    .slice(0, limits.recipients)
    .map(({ name, address }) => {
      const read = readAddress(address);
      const shown = { name: decodeWords(name), address: read instanceof Unusable ? address : read.address };
      return showable(shown.address ? showMailbox(shown) : shown.name, limits.line);
    })
    .filter(Boolean);
}

function writeHeader(
  came: Buffer,
  fields: HeaderField[],
  { messageId, hasDate }: { messageId: string | undefined; hasDate: boolean },
): Buffer {
  const kept = fields.filter(({ name }) => !removedHeaders.has(name) && !(messageId && name === 'message-id'));
  const ours = [
    ...(messageId ? [`Message-ID: ${messageId}\r\n`] : []),
    ...(hasDate ? [] : [`Date: ${wallClock().toUTCString().replace('GMT', '+0000')}\r\n`]),
  ];
  const written = `${kept.map(({ raw }) => raw).join('')}${ours.join('')}\r\n`;
  const isAsItCame = kept.length === fields.length && ours.length === 0 && written.length === came.length;
  return isAsItCame ? came : Buffer.from(written, 'latin1');
}
