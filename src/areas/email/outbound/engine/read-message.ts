import { randomUUID } from 'node:crypto';
import addressparser from 'nodemailer/lib/addressparser';
import { wallClock } from '../../../../kernel/wall-clock.ts';
import { InvalidAddress, type Mailbox, readAddress, readMailbox, showMailbox } from '../../rules/address.ts';
import { decodeWords, type HeaderField, Malformed, readHeader, readValue, showable } from '../../rules/header.ts';
import { isVerdictHeader, limits } from '../../rules/limits.ts';

/** The fields of a client's header, and the header that is sent in its place. */
export interface ReadMessage {
  from: Mailbox;
  /** Domains in Sender, Resent-From and Resent-Sender. */
  alsoFrom: string[];
  /** For the log. */
  to: string[];
  cc: string[];
  subject: string | undefined;
  messageId: string;
  idempotencyKey: string | undefined;
  /** Ends with the empty line; the client's own bytes if nothing changed. */
  header: Buffer;
}

/** RFC 5322, 3.6: allowed once. With two, mail programs differ in which one they show. */
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
/** Removed: Bcc must not be sent, and the others are for this server alone. */
const removedHeaders: ReadonlySet<string> = new Set(['bcc', 'resent-bcc', 'return-path', 'x-idempotency-key']);

/** Reads the header of a message submitted by SMTP, adds missing fields, and removes those that must not be sent. */
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

/** RFC 5322, 3.6.2 and 3.6.6: mail programs show these as the sender. */
const otherSenders: ReadonlySet<string> = new Set(['sender', 'resent-from', 'resent-sender']);
/** No mail program resends a message more often than this. */
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

/** Exactly one address with one possible reading: its domain decides which keys may send the message. */
function readFrom(value: string | undefined, name = 'From'): Mailbox | Malformed {
  if (value === undefined) return new Malformed('the header has no From');
  // `ada@example.com (Ada)` is the form of names before 1982; some programs still write it.
  const mailbox = readMailbox(value.replace(/^([^\s<>"()]+) +\(([^()<>"\\]*)\)$/, '$1'));
  if (mailbox instanceof InvalidAddress) return new Malformed(`${name} ${mailbox.why}`);
  return { ...mailbox, name: showable(decodeWords(mailbox.name), limits.subject) };
}

/** At most four times as many pieces as addresses are shown. With thousands, the parser would take 50 ms per message. */
const addressListHead = /^(?:[^,;:<]*[,;:<]){0,200}[^,;:<]*/;

/** Addresses of To or Cc for the log; the envelope decides delivery. Unreadable text is shown as received. */
function readList(value: string | undefined): string[] {
  if (!value) return [];
  const only = readMailbox(value);
  if (!(only instanceof InvalidAddress)) return [showable(showMailbox({ ...only, name: decodeWords(only.name) }), limits.line)];
  return addressparser(addressListHead.exec(value.slice(0, 16_384))![0], { flatten: true })
    .slice(0, limits.recipients)
    .map(({ name, address }) => {
      const read = readAddress(address);
      const shown = { name: decodeWords(name), address: read instanceof InvalidAddress ? address : read.address };
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
