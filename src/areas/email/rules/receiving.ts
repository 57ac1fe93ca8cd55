import { domainToASCII } from 'node:url';
import { decodeWords } from './header.ts';
import { isHeaderName, limits } from './limits.ts';

/** What one message that arrives may be. */
export const arrivalLimits = {
  bytes: limits.bytes,
  /** At a return path: reports are short, and what is longer has somebody's whole mail in it. */
  reportBytes: 1024 * 1024,
  /** RFC 5321, 4.5.3.1.8 asks for so many. */
  recipients: 100,
  headerBytes: 262_144,
  /** Verifiers join the lines of a field in a time that grows with the square of their number. */
  headerLines: 2_000,
  /** Of each field that a verifier takes apart, for the same reason. Received fields are many, and theirs is the slowest parser. */
  verifiedFieldBytes: 8_192,
  receivedBytes: 4_096,
  /** RFC 5321, 6.3: mail that went through so many servers goes in circles. */
  hops: 50,
  /** Through this one, in or out. */
  ownHops: 10,
} as const;

/** Of messages up to this size the last part of the quota is kept: they are what people write. */
export const smallBytes = 65_536;
const senderFloor = 64 * 2 ** 20;
const reserveFloor = 2 ** 20;

/**
 * What an organization may have stored of what arrives, in bytes over 30 days. A stranger cannot fill it: one sender has a quarter, large
 * messages leave a fifth to small ones, and of that fifth nobody has any who has more than a hundredth of all: else four addresses would fill it.
 * Reports go beyond it: an organization without room still hears what became of its mail.
 */
export const inboundShares = (quota: number) => {
  const large = 0.8 * quota;
  const usual = Math.min(quota, Math.max(quota / 4, senderFloor));
  return {
    small: quota,
    large,
    report: 1.25 * quota,
    sender: usual,
    /** Of a sender, when so much is stored of all. */
    senderAt: (stored: number): number => (stored > large ? Math.max(quota / 100, reserveFloor) : usual),
  };
};

/** Why a message with this header is going in circles; undefined: it is not. */
export function findLoop(header: Buffer, mailHost: string): string | undefined {
  const text = header.toString('latin1').toLowerCase();
  const own = new RegExp(`\\bby ${RegExp.escape(mailHost)} \\(quarterdeck\\)`);
  let hops = 0;
  let ownHops = 0;
  // A field begins at the start of a line; the lines folded below it belong to it.
  for (let at = text.startsWith('received:') ? 0 : next(text, 0); at >= 0; at = next(text, at + 1)) {
    hops++;
    if (own.test(fieldAt(text, at))) ownHops++;
    if (hops > arrivalLimits.hops) return `it went through more than ${arrivalLimits.hops} servers`;
    if (ownHops > arrivalLimits.ownHops) return `it went through this server more than ${arrivalLimits.ownHops} times`;
  }
  return undefined;
}

/** The fields that a verifier takes apart; of the others it reads the bytes alone. */
const verifiedFields: ReadonlySet<string> = new Set([
  ...['received', 'return-path', 'from', 'sender', 'dkim-signature', 'authentication-results'],
  ...['arc-seal', 'arc-message-signature', 'arc-authentication-results'],
]);

/** Why a verifier would take too long for this header; undefined: it would not. */
export function findExcess(header: Buffer): string | undefined {
  if (countLines(header, arrivalLimits.headerLines) > arrivalLimits.headerLines)
    return `the header has more than ${arrivalLimits.headerLines} lines`;
  let field = { name: '', bytes: 0 };
  for (const { name, start, end } of fieldsOf(header)) {
    // A line that begins no field goes on with the one before it: some verifiers read it so.
    field = { name: isHeaderName(name) ? name : field.name, bytes: end - start + (isHeaderName(name) ? 0 : field.bytes) };
    const most = field.name === 'received' ? arrivalLimits.receivedBytes : arrivalLimits.verifiedFieldBytes;
    if (field.bytes > most && verifiedFields.has(field.name)) return `the field ${field.name} of the header is longer than ${most} bytes`;
  }
  return undefined;
}

function next(text: string, from: number): number {
  const at = text.indexOf('\r\nreceived:', from);
  return at < 0 ? -1 : at + 2;
}

/** Some of a field is enough to see who wrote it. */
const fieldAt = (text: string, at: number): string => text.slice(at, at + 1_000).split(/\r\n(?![ \t])/, 1)[0]!;

/** Whether it brings a verdict in our name (RFC 8601, 5): we write none into mail, so it is somebody else's. */
export function claimsOurVerdict(header: Buffer, mailHost: string): boolean {
  for (const { name, start, end } of fieldsOf(header)) {
    if (name !== 'authentication-results') continue;
    // `findExcess` bounds the field. All of it counts: the name may stand behind a long comment.
    const value = header.toString('utf8', header.indexOf(0x3a, start) + 1, end);
    if (readServerIds(value).some((id) => domainToASCII(id.replace(/\.{1,9}$/, '')) === mailHost.toLowerCase())) return true;
  }
  return false;
}

/**
 * The authserv-id, as strict and as lenient readers find it: the first word, in quotes or not, outside of comments, and all that stands before
 * the first semicolon as one word. Of a comment that does not end nobody knows where the id begins: each of its words may be it.
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

/** From whom, and over what, a message came: as the envelope had it. */
export interface Envelope {
  /** Empty for reports. */
  mailFrom: string;
  rcptTo: string[];
  remoteIp: string;
  helo: string;
  /** The protocol and cipher; null: in the clear. */
  tls: string | null;
}

/** What is put before a message that arrived: whom to tell of trouble, and where it came from (RFC 5321, 4.4). */
export function writeTrace(envelope: Envelope, { mailHost, id, at }: { mailHost: string; id: string; at: Date }): Buffer {
  const from = `from ${clean(envelope.helo) || 'unknown'} ([${envelope.remoteIp.includes(':') ? 'IPv6:' : ''}${envelope.remoteIp}])`;
  const how = envelope.tls === null ? 'ESMTP' : 'ESMTPS';
  const date = at.toUTCString().replace('GMT', '+0000');
  return Buffer.from(
    `Return-Path: <${clean(envelope.mailFrom)}>\r\nReceived: ${from}\r\n by ${mailHost} (Quarterdeck) with ${how} id ${id};\r\n ${date}\r\n`,
    'latin1',
  );
}

/** Nothing that a stranger says may end a line or open a comment. */
const clean = (text: string): string => text.replaceAll(/[^!-'*-~]/g, '').slice(0, 320);

/** Where fields begin and end, in order: a line that begins with a space belongs to the one before it. */
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

/** A header with these fields alone, each cut short: what a reader of any quality gets through at once. */
export function pickFields(header: Buffer, names: ReadonlySet<string>, longest: number): Buffer {
  const picked: Buffer[] = [];
  const seen = new Set<string>();
  for (const { name, start, end } of fieldsOf(header)) {
    if (!names.has(name) || seen.has(name)) continue; // of two, the first is the one that most readers show
    seen.add(name);
    const isCut = end - start > longest;
    picked.push(header.subarray(start, isCut ? start + longest : end), Buffer.from(isCut ? '\r\n' : ''));
  }
  return Buffer.concat([...picked, Buffer.from('\r\n')]);
}

/** The message with its first signatures alone: each costs a question to the DNS and a computation, and nobody needs a hundred. */
export function capSignatures(raw: Buffer, headerBytes: number, most: number): Buffer {
  const extra = [...fieldsOf(raw.subarray(0, headerBytes))].filter(({ name }) => name === 'dkim-signature').slice(most);
  if (extra.length === 0) return raw;
  const kept: Buffer[] = [];
  let from = 0;
  for (const { start, end } of extra) {
    kept.push(raw.subarray(from, start));
    from = end;
  }
  return Buffer.concat([...kept, raw.subarray(from)]);
}

/** Whether somebody signed it, or says so: then its body counts. Else what it is judged by stands in its header alone. */
export const maySign = (header: Buffer): boolean =>
  /dkim-signature|arc-(?:seal|message-signature|authentication-results)/i.test(header.toString('latin1'));

/** Lines of a message, counted no further than `most`. */
export function countLines(raw: Buffer, most: number): number {
  let lines = 0;
  for (let at = raw.indexOf(0x0a); at >= 0 && lines <= most; at = raw.indexOf(0x0a, at + 1)) lines++;
  return lines;
}
