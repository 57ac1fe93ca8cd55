// The program of a reader thread, started by ./worker.ts. It parses untrusted mail: a hostile message can only stall this thread, which the
// process terminates when it takes too long or too much memory.
import './without-bimi.ts';
import { parentPort } from 'node:worker_threads';
import { type AuthenticateResult, authenticate } from 'mailauth';
import PostalMime, { type Address, type Email } from 'postal-mime';
import { readReport } from '../../../outbound/rules/report/index.ts';
import { judgeReporter } from '../../../outbound/rules/report/reporter.ts';
import { showMailbox } from '../../../rules/address.ts';
import { endOfHeader, showable } from '../../../rules/header.ts';
import { isOneAuthor } from '../../rules/author.ts';
import { capSignatures, countLines, findExcess, mayBeSigned, pickFields } from '../../rules/receiving.ts';
import { BufferBlob } from './buffer-blob.ts';
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
  /** Messages up to this size are parsed in one step. */
  small: 32_768,
  /** JSON bytes of a list of addresses. */
  addresses: 2_500,
};

// The verifiers create many Error objects whose stacks are never used.
Error.stackTraceLimit = 0;

globalThis.Blob = BufferBlob as unknown as typeof Blob;

const port = parentPort!;
const post = (message: FromThread) => port.postMessage(message);

// DNS questions go to the process, which owns the resolver.
let lastQuestionId = 0;
type Records = string[] & string[][];
const waiting = new Map<number, { resolve(records: Records): void; reject(error: Error): void }>();

const failure = (code: string) => Object.assign(new Error(code), { code });

const ask = (reading: number, name: string, rrtype: string) =>
  new Promise<Records>((resolve, reject) => {
    const id = ++lastQuestionId;
    waiting.set(id, { resolve, reject });
    post({ type: 'dns', id, reading, name, rrtype });
  });

interface CachedQuestion {
  answer: Promise<Records>;
  isAnswered: boolean;
  until: number;
  /** Shared by other messages that ask the same question. */
  forOthers?: Promise<Records | undefined>;
}

/** Messages of one batch ask the same questions, so answers are cached for 10 s. Failures are not cached. */
const dnsCacheLimits = { ms: 10_000, entries: 500 };
const dnsCache = new Map<string, CachedQuestion>();
function askAndCache(reading: number, name: string, rrtype: string): Promise<Records> {
  const key = `${rrtype} ${name}`;
  if (dnsCache.size >= dnsCacheLimits.entries) dnsCache.clear();
  const answer = ask(reading, name, rrtype);
  const asking: CachedQuestion = { answer, isAnswered: false, until: performance.now() + dnsCacheLimits.ms };
  dnsCache.set(key, asking);
  answer.then(
    () => {
      asking.isAnswered = true;
    },
    (error: { code: string }) => {
      asking.isAnswered = isAnswer(error);
      if (!asking.isAnswered && dnsCache.get(key) === asking) dnsCache.delete(key);
    },
  );
  return answer;
}

/** NXDOMAIN and NODATA are answers too. */
const isAnswer = ({ code }: { code: string }) => code === 'ENOTFOUND' || code === 'ENODATA';

/** How long a message waits for another message's question, whose DNS deadline may be nearly over. */
const sharedWaitMs = 1_000;
const waitForShared = (answer: Promise<Records>) =>
  new Promise<Records | undefined>((resolve, reject) => {
    const timer = setTimeout(() => resolve(undefined), sharedWaitMs);
    const failed = (error: { code: string }) => (isAnswer(error) ? reject(error) : resolve(undefined));
    answer.then(resolve, failed).finally(() => clearTimeout(timer));
  });

function makeResolver(reading: number) {
  let lookups = 0;
  let mayWait = true;
  return async (name: string, rrtype: string): Promise<Records> => {
    if (++lookups > limits.lookups) throw failure('ESERVFAIL');
    const known = dnsCache.get(`${rrtype} ${name}`);
    if (!known || known.until <= performance.now()) return askAndCache(reading, name, rrtype);
    if (known.isAnswered) return known.answer;
    if (mayWait) {
      known.forOthers ??= waitForShared(known.answer);
      const heard = await known.forOthers;
      if (heard) return heard;
      mayWait = false;
    }
    return askAndCache(reading, name, rrtype);
  };
}

port.on('message', (message: ToThread) => {
  if (message.type === 'ping') return post({ type: 'pong', id: message.id });
  if (message.type === 'dns') {
    const question = waiting.get(message.id);
    waiting.delete(message.id);
    if ('code' in message.answer) question?.reject(failure(message.answer.code));
    else question?.resolve(message.answer.records as Records);
    return;
  }
  read(message.id, message.reading).catch((error: unknown) =>
    post({ type: 'failed', id: message.id, why: showable(error instanceof Error ? error.message : String(error), 200) }),
  );
});

async function read(id: number, reading: Reading): Promise<void> {
  if (reading.kind === 'report') return post({ type: 'done', id, result: await readReported(id, reading) });
  const raw = Buffer.from(reading.raw.buffer, reading.raw.byteOffset, reading.raw.byteLength);
  const end = endOfHeader(raw);
  const headerBytes = end < 0 ? raw.length : end;
  // The MX port refuses such a header now, but stored mail may be older than that limit.
  const isExcessive = findExcess(raw.subarray(0, headerBytes)) !== undefined;
  const judge = async (from: string) =>
    isExcessive ? unreadMail('').authentication : judgeSender(id, reading, signedPart(raw, headerBytes), from);
  const postMail = (mail: ReadMail) => post({ type: 'done', id, result: { kind: 'mail', mail } });
  if (raw.length <= limits.small) {
    const whole = await parseWhole(raw).catch(() => undefined);
    if (whole) {
      const head = describeHead(whole);
      return postMail({ ...head, ...describeBody(whole), authentication: await judge(authorOf(whole)) });
    }
  }
  // Cheapest steps first: partial results are kept in case a later step never ends.
  const shown = await PostalMime.parse(pickFields(raw.subarray(0, headerBytes), shownFields, limits.field));
  const head = describeHead(shown);
  post({ type: 'part', id, part: head });
  const authentication = await judge(authorOf(shown));
  post({ type: 'part', id, part: { ...head, authentication } });
  postMail({ ...head, authentication, ...(await readBody(raw)) });
}

/** Only complaints need a verified sender, because they count against an organization. */
async function readReported(id: number, reading: Reading): Promise<Extract<ReadResult, { kind: 'report' }>> {
  const report = readReport(reading.raw);
  if (report.kind !== 'complaint') return { kind: 'report', report };
  const raw = Buffer.from(reading.raw.buffer, reading.raw.byteOffset, reading.raw.byteLength);
  const end = endOfHeader(raw);
  const result = await verify(id, reading, signedPart(raw, end < 0 ? raw.length : end));
  return { kind: 'report', report, reporter: judgeReporter(result) };
}

/** The part that the verifiers need. */
function signedPart(raw: Buffer, headerBytes: number): Buffer {
  const header = raw.subarray(0, headerBytes);
  return mayBeSigned(header) ? capSignatures(raw, headerBytes, limits.signatures) : header;
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

/** The From address of the event. */
const authorOf = ({ from }: Email): string => (from?.group?.[0] ?? from)?.address ?? '';

/** As many addresses as the event has room for. */
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

/** Undefined: verification failed. */
function verify(id: number, { from, mailHost }: Reading, raw: Buffer): Promise<AuthenticateResult | undefined> {
  const { ip, helo, sender } = from;
  return authenticate(raw, {
    ip,
    mta: mailHost,
    resolver: makeResolver(id),
    disableBimi: true,
    ...(helo ? { helo } : {}),
    ...(sender ? { sender } : {}),
  }).catch(() => undefined);
}

async function judgeSender(id: number, reading: Reading, raw: Buffer, from: string): Promise<Authentication> {
  const result = await verify(id, reading, raw);
  return result ? describeAuthentication(result, from) : unreadMail('').authentication;
}

/** `from`: the From address of the event. DMARC is about the From domain, so the result needs an unambiguous From. */
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
    maxNestingDepth: limits.nesting,
    maxHeadersSize: limits.partHeaders,
    maxRfc822NestingDepth: 0,
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

/** PostgreSQL stores no NUL, and JSON no lone surrogates. */
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

// Announces that the thread is ready.
post({ type: 'pong', id: 0 });
