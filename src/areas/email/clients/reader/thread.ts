// Runs in a thread of its own, started by ./index.ts: reads what strangers wrote. Whatever it costs, it costs this thread, which is ended when
// it takes too long or too much.
import { parentPort } from 'node:worker_threads';
import { type AuthenticateResult, authenticate } from 'mailauth';
import PostalMime, { type Address, type Email } from 'postal-mime';
import { showMailbox } from '../../rules/address.ts';
import { isOneAuthor } from '../../rules/author.ts';
import { endOfHeader, showable } from '../../rules/header.ts';
import { capSignatures, countLines, findExcess, maySign, pickFields } from '../../rules/receiving.ts';
import { readReport } from '../../rules/report/index.ts';
import { judgeReporter } from '../../rules/report/reporter.ts';
import { Pieces } from './pieces.ts';
import {
  type Attachment,
  type Authentication,
  type FromThread,
  type Reading,
  type ReadMail,
  type ReadResult,
  type ToThread,
  unreadMail,
} from './protocol.ts';

const limits = {
  lines: 400_000,
  nesting: 50,
  partHeaders: 1024 * 1024,
  signatures: 10,
  lookups: 100,
  text: 20_000,
  attachments: 100,
  field: 8_192,
  /** Nothing of this size takes long: it is read in one go. */
  small: 32_768,
  /** JSON bytes of a list of addresses. */
  addresses: 2_500,
};

// Those who verify make errors of answers by the dozen, and nobody looks at where they were made.
Error.stackTraceLimit = 0;

globalThis.Blob = Pieces as unknown as typeof Blob;

const port = parentPort!;
const tell = (message: FromThread) => port.postMessage(message);

// Questions to the DNS go through the process, whose resolver it is.
let asked = 0;
type Records = string[] & string[][];
const waiting = new Map<number, { resolve(records: Records): void; reject(error: Error): void }>();

const failure = (code: string) => Object.assign(new Error(code), { code });

const ask = (reading: number, name: string, rrtype: string) =>
  new Promise<Records>((resolve, reject) => {
    const id = ++asked;
    waiting.set(id, { resolve, reject });
    tell({ type: 'dns', id, reading, name, rrtype });
  });

interface Asking {
  answer: Promise<Records>;
  isThere: boolean;
  until: number;
  /** For the other messages that wait for it, if there are any. */
  forOthers?: Promise<Records | undefined>;
}

/** Messages that come together ask the same: an answer is good for a moment. What failed is asked again. */
const moment = { ms: 10_000, most: 500 };
const lately = new Map<string, Asking>();
function askFor(reading: number, name: string, rrtype: string): Promise<Records> {
  const key = `${rrtype} ${name}`;
  if (lately.size >= moment.most) lately.clear();
  const answer = ask(reading, name, rrtype);
  const asking: Asking = { answer, isThere: false, until: performance.now() + moment.ms };
  lately.set(key, asking);
  answer.then(
    () => {
      asking.isThere = true;
    },
    (error: { code: string }) => {
      asking.isThere = isAnswer(error);
      if (!asking.isThere && lately.get(key) === asking) lately.delete(key);
    },
  );
  return answer;
}

/** There is nothing of that name: an answer too. */
const isAnswer = ({ code }: { code: string }) => code === 'ENOTFOUND' || code === 'ENODATA';

/** So long others wait for what one message has asked, which may have no time left for the DNS. */
const patienceMs = 1_000;
const waitAWhile = (answer: Promise<Records>) =>
  new Promise<Records | undefined>((resolve, reject) => {
    const timer = setTimeout(() => resolve(undefined), patienceMs);
    const failed = (error: { code: string }) => (isAnswer(error) ? reject(error) : resolve(undefined));
    answer.then(resolve, failed).finally(() => clearTimeout(timer));
  });

function makeResolver(reading: number) {
  let lookups = 0;
  let isPatient = true;
  return async (name: string, rrtype: string): Promise<Records> => {
    if (++lookups > limits.lookups) throw failure('ESERVFAIL');
    const known = lately.get(`${rrtype} ${name}`);
    if (!known || known.until <= performance.now()) return askFor(reading, name, rrtype);
    if (known.isThere) return known.answer;
    if (isPatient) {
      known.forOthers ??= waitAWhile(known.answer);
      const heard = await known.forOthers;
      if (heard) return heard;
      isPatient = false;
    }
    return askFor(reading, name, rrtype);
  };
}

port.on('message', (message: ToThread) => {
  if (message.type === 'ping') return tell({ type: 'pong', id: message.id });
  if (message.type === 'dns') {
    const question = waiting.get(message.id);
    waiting.delete(message.id);
    if ('code' in message.answer) question?.reject(failure(message.answer.code));
    else question?.resolve(message.answer.records as Records);
    return;
  }
  read(message.id, message.reading).catch((error: unknown) =>
    tell({ type: 'failed', id: message.id, why: showable(error instanceof Error ? error.message : String(error), 200) }),
  );
});

async function read(id: number, reading: Reading): Promise<void> {
  if (reading.kind === 'report') return tell({ type: 'done', id, result: await readReported(id, reading) });
  const raw = Buffer.from(reading.raw.buffer, reading.raw.byteOffset, reading.raw.byteLength);
  const end = endOfHeader(raw);
  const headerBytes = end < 0 ? raw.length : end;
  // The door has refused such a header; mail that is read again may be older than that bound.
  const isExcessive = findExcess(raw.subarray(0, headerBytes)) !== undefined;
  const judge = async (from: string) =>
    isExcessive ? unreadMail('').authentication : judgeSender(id, reading, signedPart(raw, headerBytes), from);
  const tellAll = (mail: ReadMail) => tell({ type: 'done', id, result: { kind: 'mail', mail } });
  if (raw.length <= limits.small) {
    const whole = await parseWhole(raw).catch(() => undefined);
    if (whole) {
      const head = describeHead(whole);
      return tellAll({ ...head, ...describeBody(whole), authentication: await judge(authorOf(whole)) });
    }
  }
  // In the order of what costs least: what is known by then is told, should the rest never end.
  const shown = await PostalMime.parse(pickFields(raw.subarray(0, headerBytes), shownFields, limits.field));
  const head = describeHead(shown);
  tell({ type: 'part', id, part: head });
  const authentication = await judge(authorOf(shown));
  tell({ type: 'part', id, part: { ...head, authentication } });
  tellAll({ ...head, authentication, ...(await readBody(raw)) });
}

/** Only a complaint is held against an organization on its sender's word, so only a complaint is verified. */
async function readReported(id: number, reading: Reading): Promise<Extract<ReadResult, { kind: 'report' }>> {
  const report = readReport(reading.raw);
  if (report.kind !== 'complaint') return { kind: 'report', report };
  const raw = Buffer.from(reading.raw.buffer, reading.raw.byteOffset, reading.raw.byteLength);
  const end = endOfHeader(raw);
  const result = await verify(id, reading, signedPart(raw, end < 0 ? raw.length : end));
  return { kind: 'report', report, reporter: judgeReporter(result) };
}

/** What those who verify must see of it. */
function signedPart(raw: Buffer, headerBytes: number): Buffer {
  const header = raw.subarray(0, headerBytes);
  return maySign(header) ? capSignatures(raw, headerBytes, limits.signatures) : header;
}

type Head = Pick<ReadMail, 'from' | 'to' | 'cc' | 'subject' | 'headers'>;

const shownFields = new Set(['from', 'to', 'cc', 'subject', 'message-id', 'in-reply-to', 'references', 'date']);

function describeHead(mail: Email): Head {
  const named = { messageId: mail.messageId, inReplyTo: mail.inReplyTo, references: mail.references, date: mail.date };
  const headers = Object.entries(named).flatMap(([name, value]) => (value ? [[name, showable(value, 500)]] : []));
  return {
    from: showAddresses(mail.from ? [mail.from] : [])[0] ?? '',
    to: showAddresses(mail.to ?? []),
    cc: showAddresses(mail.cc ?? []),
    subject: mail.subject === undefined ? null : showable(mail.subject, 998),
    headers: Object.fromEntries(headers),
  };
}

/** The address in From that is told. */
const authorOf = ({ from }: Email): string => (from?.group?.[0] ?? from)?.address ?? '';

/** As many as there is room for in what is told. */
function showAddresses(addresses: readonly Address[]): string[] {
  let left = limits.addresses;
  return addresses
    .flatMap((each) => each.group ?? [each])
    .slice(0, 50)
    .map((each) => showable(each.address ? showMailbox({ name: each.name, address: each.address }) : each.name, 320))
    .filter((text) => {
      left -= Buffer.byteLength(JSON.stringify(text)) + 1;
      return text !== '' && left >= 0;
    });
}

/** Undefined: it could not be judged. */
function verify(id: number, { from, mailHost }: Reading, raw: Buffer): Promise<AuthenticateResult | undefined> {
  const { ip, helo, sender } = from;
  return authenticate(raw, {
    ...{ ip, mta: mailHost, resolver: makeResolver(id), disableBimi: true },
    ...(helo ? { helo } : {}),
    ...(sender ? { sender } : {}),
  }).catch(() => undefined);
}

async function judgeSender(id: number, reading: Reading, raw: Buffer, from: string): Promise<Authentication> {
  const result = await verify(id, reading, raw);
  return result ? describeAuthentication(result, from) : unreadMail('').authentication;
}

/** `from`: the address that is told. DMARC speaks of the domain in From, so a verdict needs a From that can be read in one way only. */
function describeAuthentication({ spf, dkim, dmarc, arc }: AuthenticateResult, from: string): Authentication {
  const domainOf = (name: string | undefined) => (name ? { domain: showable(name, 253) } : {});
  const isClear = dmarc !== false && isOneAuthor(dkim.headerFrom, dmarc.status.header?.from, from);
  return {
    spf: spf ? { result: spf.status.result, ...domainOf(spf.domain) } : { result: 'none' },
    dkim: dkim.results
      .filter(({ signingDomain }) => signingDomain)
      .slice(0, limits.signatures)
      .map(({ status, signingDomain, selector }) => ({
        result: status.result,
        ...domainOf(signingDomain),
        ...(selector ? { selector: showable(selector, 100) } : {}),
        aligned: isClear && Boolean(status.aligned),
      })),
    dmarc: isClear
      ? { result: dmarc.status.result, ...domainOf(dmarc.domain), ...(dmarc.policy ? { policy: showable(dmarc.policy, 20) } : {}) }
      : { result: 'permerror' },
    arc: { result: arc ? arc.status.result : 'none' },
  };
}

type Body = Pick<ReadMail, 'text' | 'html' | 'attachments' | 'isTruncated' | 'problem'>;

const parseWhole = (raw: Buffer): Promise<Email> =>
  PostalMime.parse(raw, {
    ...{ maxNestingDepth: limits.nesting, maxHeadersSize: limits.partHeaders, maxRfc822NestingDepth: 0 },
    forceRfc822Attachments: true,
  });

async function readBody(raw: Buffer): Promise<Body> {
  const nothing = { text: null, html: null, attachments: [], isTruncated: true };
  if (countLines(raw, limits.lines) > limits.lines) return { ...nothing, problem: `it has more than ${limits.lines} lines` };
  try {
    return describeBody(await parseWhole(raw));
  } catch (error) {
    return { ...nothing, problem: showable(error instanceof Error ? error.message : 'it is no MIME', 200) };
  }
}

/** PostgreSQL holds no NUL, and JSON no half characters. */
const cleanText = (text: string) => text.replaceAll('\0', '').slice(0, limits.text).toWellFormed();

function describeBody({ text, html, attachments }: Email): Body {
  const isHtmlShown = html !== undefined && html.length <= limits.text;
  return {
    text: text === undefined ? null : cleanText(text),
    html: isHtmlShown ? cleanText(html) : null,
    attachments: attachments.slice(0, limits.attachments).map(describeAttachment),
    isTruncated: (text?.length ?? 0) > limits.text || (html !== undefined && !isHtmlShown) || attachments.length > limits.attachments,
    problem: null,
  };
}

const describeAttachment = ({ filename, mimeType, content, contentId }: Email['attachments'][number]): Attachment => ({
  filename: filename === null ? null : showable(filename, 255),
  contentType: showable(mimeType, 127),
  sizeBytes: typeof content === 'string' ? Buffer.byteLength(content) : content.byteLength,
  ...(contentId ? { contentId: showable(contentId, 255) } : {}),
});

// From here on it answers.
tell({ type: 'pong', id: 0 });
