import { domainToASCII } from 'node:url';
import { decodeWords } from '../../rules/header.ts';
import { isHeaderName, limits } from '../../rules/limits.ts';

/** Limits of one received message. */
export const arrivalLimits = {
  bytes: limits.bytes,
  /** For mail to a return path. Reports are short; a longer one carries a whole returned message. */
  reportBytes: 1024 * 1024,
  /** The minimum of RFC 5321, 4.5.3.1.8. */
  recipients: 100,
  headerBytes: 262_144,
  /** Verifiers join folded lines in quadratic time. */
  headerLines: 2_000,
  /** Per parsed field, for the same reason. Received fields have a lower limit: they are many, and their parser is the slowest. */
  verifiedFieldBytes: 8_192,
  receivedBytes: 4_096,
  /** RFC 5321, 6.3: more hops indicate a mail loop. */
  hops: 50,
  /** Hops through this server, in or out. */
  ownHops: 10,
} as const;

/** The last fifth of the quota is reserved for messages up to this size, the size that people write. */
export const smallMessageBytes = 65_536;
const minSenderShare = 64 * 2 ** 20;
const minReserveShare = 2 ** 20;

/**
 * Shares of an organization's inbound quota, in bytes over 30 days. A single sender cannot fill the quota: it gets a quarter. Large messages leave
 * a fifth to small ones. In that fifth a sender with more than a hundredth of the quota gets nothing, otherwise four addresses would fill it.
 * Reports may exceed the quota by a quarter, so that a full organization still learns about its bounces.
 */
export const inboundShares = (quota: number) => {
  const large = 0.8 * quota;
  const usual = Math.min(quota, Math.max(quota / 4, minSenderShare));
  return {
    small: quota,
    large,
    report: 1.25 * quota,
    sender: usual,
    /** A sender's share when `stored` bytes are used in total. */
    senderAt: (stored: number): number => (stored > large ? Math.max(quota / 100, minReserveShare) : usual),
  };
};

/** Why this header indicates a mail loop; undefined: it does not. */
export function findLoop(header: Buffer, mailHost: string): string | undefined {
  const text = header.toString('latin1').toLowerCase();
  const own = new RegExp(`\\bby ${RegExp.escape(mailHost)} \\(quarterdeck\\)`);
  let hops = 0;
  let ownHops = 0;
  // A field begins at a line start and includes its folded lines.
  for (let at = text.startsWith('received:') ? 0 : nextReceivedField(text, 0); at >= 0; at = nextReceivedField(text, at + 1)) {
    hops++;
    if (own.test(fieldAt(text, at))) ownHops++;
    if (hops > arrivalLimits.hops) return `it went through more than ${arrivalLimits.hops} servers`;
    if (ownHops > arrivalLimits.ownHops) return `it went through this server more than ${arrivalLimits.ownHops} times`;
  }
  return undefined;
}

/** Fields that verifiers parse; of other fields they only read the bytes. */
const verifiedFields: ReadonlySet<string> = new Set([
  'received',
  'return-path',
  'from',
  'sender',
  'dkim-signature',
  'authentication-results',
  'arc-seal',
  'arc-message-signature',
  'arc-authentication-results',
]);

/** Why this header would stall a verifier; undefined: it would not. */
export function findExcess(header: Buffer): string | undefined {
  if (countLines(header, arrivalLimits.headerLines) > arrivalLimits.headerLines)
    return `the header has more than ${arrivalLimits.headerLines} lines`;
  let field = { name: '', bytes: 0 };
  for (const { name, start, end } of fieldsOf(header)) {
    // Some verifiers treat a line without a field name as part of the previous field.
    field = { name: isHeaderName(name) ? name : field.name, bytes: end - start + (isHeaderName(name) ? 0 : field.bytes) };
    const maxBytes = field.name === 'received' ? arrivalLimits.receivedBytes : arrivalLimits.verifiedFieldBytes;
    if (field.bytes > maxBytes && verifiedFields.has(field.name))
      return `the field ${field.name} of the header is longer than ${maxBytes} bytes`;
  }
  return undefined;
}

function nextReceivedField(text: string, from: number): number {
  const at = text.indexOf('\r\nreceived:', from);
  return at < 0 ? -1 : at + 2;
}

/** The beginning of the field is enough to identify the server. */
const fieldAt = (text: string, at: number): string => text.slice(at, at + 1_000).split(/\r\n(?![ \t])/, 1)[0]!;

/** Whether the header has Authentication-Results in our name (RFC 8601, 5). We write none into mail, so it is forged. */
export function claimsOurVerdict(header: Buffer, mailHost: string): boolean {
  for (const { name, start, end } of fieldsOf(header)) {
    if (name !== 'authentication-results') continue;
    // `findExcess` bounds the field. The whole field is read, since the name may follow a long comment.
    const value = header.toString('utf8', header.indexOf(0x3a, start) + 1, end);
    if (readServerIds(value).some((id) => domainToASCII(id.replace(/\.{1,9}$/, '')) === mailHost.toLowerCase())) return true;
  }
  return false;
}

/**
 * All authserv-ids that strict or lenient parsers could find: the first word outside of comments, quoted or not, and the text before the first
 * semicolon as one word. After an unclosed comment every word could be the id.
 */
function readServerIds(value: string): string[] {
  let depth = 0;
  let words = '';
  for (let at = 0; at < value.length; at++) {
    const character = value[at]!;
    if (character === '\\') {
      at++;
      if (depth === 0) words += value[at] ?? '';
    } else if (character === '(') depth++;
    else if (character === ')') depth = Math.max(0, depth - 1);
    else if (depth === 0 && character === ';') break;
    else if (depth === 0 && character !== '"') words += character;
  }
  const read = decodeWords(depth > 0 ? value : words);
  const each = read.split(/[\s;,/()"]/).filter((word) => word !== '');
  return depth > 0 ? each : [...each.slice(0, 1), read.replaceAll(/\s/g, '')];
}

/** The SMTP envelope of a received message. */
export interface Envelope {
  /** Empty for reports. */
  mailFrom: string;
  rcptTo: string[];
  remoteIp: string;
  helo: string;
  /** The protocol and cipher; null: in the clear. */
  tls: string | null;
}

/** Return-Path and Received, prepended to a received message (RFC 5321, 4.4). */
export function writeTrace(envelope: Envelope, { mailHost, id, at }: { mailHost: string; id: string; at: Date }): Buffer {
  const from = `from ${stripUnsafe(envelope.helo) || 'unknown'} ([${envelope.remoteIp.includes(':') ? 'IPv6:' : ''}${envelope.remoteIp}])`;
  const how = envelope.tls === null ? 'ESMTP' : 'ESMTPS';
  const date = at.toUTCString().replace('GMT', '+0000');
  return Buffer.from(
    `Return-Path: <${stripUnsafe(envelope.mailFrom)}>\r\nReceived: ${from}\r\n by ${mailHost} (Quarterdeck) with ${how} id ${id};\r\n ${date}\r\n`,
    'latin1',
  );
}

/** Removes characters of untrusted text that could end a line or open a comment. */
const stripUnsafe = (text: string): string => text.replaceAll(/[^!-'*-~]/g, '').slice(0, 320);

/** Offsets of the fields in order, including folded lines. */
function* fieldsOf(header: Buffer): Generator<{ name: string; start: number; end: number }> {
  for (let start = 0; start < header.length; ) {
    let end = header.indexOf('\r\n', start, 'latin1');
    while (end >= 0 && (header[end + 2] === 0x20 || header[end + 2] === 0x09)) end = header.indexOf('\r\n', end + 2, 'latin1');
    const stop = end < 0 ? header.length : end + 2;
    const colon = header.indexOf(0x3a, start);
    const name = colon < 0 || colon >= stop ? '' : header.toString('latin1', start, colon).trim().toLowerCase();
    yield { name, start, end: stop };
    start = stop;
  }
}

/** A header with only these fields, each truncated, so that any parser handles it quickly. */
export function pickFields(header: Buffer, names: ReadonlySet<string>, maxBytes: number): Buffer {
  const picked: Buffer[] = [];
  const seen = new Set<string>();
  for (const { name, start, end } of fieldsOf(header)) {
    if (!names.has(name) || seen.has(name)) continue; // most mail clients show the first of two
    seen.add(name);
    const isCut = end - start > maxBytes;
    picked.push(header.subarray(start, isCut ? start + maxBytes : end), Buffer.from(isCut ? '\r\n' : ''));
  }
  return Buffer.concat([...picked, Buffer.from('\r\n')]);
}

/** The message with only its first signatures, because each one costs a DNS question and a verification. */
export function capSignatures(raw: Buffer, headerBytes: number, maxSignatures: number): Buffer {
  const extra = [...fieldsOf(raw.subarray(0, headerBytes))].filter(({ name }) => name === 'dkim-signature').slice(maxSignatures);
  if (extra.length === 0) return raw;
  const kept: Buffer[] = [];
  let from = 0;
  for (const { start, end } of extra) {
    kept.push(raw.subarray(from, start));
    from = end;
  }
  return Buffer.concat([...kept, raw.subarray(from)]);
}

/** Whether a signature field is present, so that verification needs the body. Otherwise the header is enough. */
export const mayBeSigned = (header: Buffer): boolean =>
  /dkim-signature|arc-(?:seal|message-signature|authentication-results)/i.test(header.toString('latin1'));

/** Counts lines, up to just over `max`. */
export function countLines(raw: Buffer, max: number): number {
  let lines = 0;
  for (let at = raw.indexOf(0x0a); at >= 0 && lines <= max; at = raw.indexOf(0x0a, at + 1)) lines++;
  return lines;
}
