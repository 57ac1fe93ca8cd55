import PostalMime from 'postal-mime';
import { escaped } from '../kernel/http/html.ts';
import type { EchoedDelivery } from './echo.ts';
import type { InboxMessage } from './mail-sink.ts';
import type { PhoneItem } from './phone.ts';

// The pages under /try, as markup for `renderHtml`. Senders choose every text here: each goes through `shown`.

/** Characters that change the direction or the lines of the text around them. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is shown as such
const disruptive = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029]/g;

/** Text as markup. Control characters and marks of direction are shown by their number. */
const shown = (text: string): string =>
  escaped(text.replaceAll(disruptive, (c) => `[U+${c.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}]`));

const maxShownLength = 200_000;
const block = (text: string) =>
  `<pre>${shown(text.slice(0, maxShownLength).replaceAll('\r\n', '\n'))}${text.length > maxShownLength ? '\n… cut here' : ''}</pre>`;

const links =
  '<nav><a href="/try/">Try</a><a href="/try/inbox">Inbox</a><a href="/try/phone">Phone</a><a href="/try/echo">Webhooks</a></nav>';
/** `2026-05-04 12:00:00 UTC` */
const when = (at: string) => shown(`${at.slice(0, 19).replace('T', ' ')} UTC`);
const list = (items: readonly string[], none: string) =>
  items.length ? `<ul>${items.map((item) => `<li>${item}</li>`).join('')}</ul>` : `<p>${none}</p>`;

/** Where the list looks for the subject and the author of a message, and as much as it reads of them. */
const maxHeaderBytes = 65_536;
const maxReadBytes = 4_096;

/**
 * As much of a message as a page parses. The parser takes some 20 µs for a line and reads an attached message once more, on the thread that
 * serves everything else: a mail of 32 MiB of empty lines would hold up the server for minutes.
 */
const maxParsedBytes = 256 * 1024;
const maxParsedLines = 5_000;

export interface MessageSummary {
  id: number;
  from: string;
  to: readonly string[];
  at: string;
  bytes: number;
  subject: string;
  /** As the message itself says; `from` is where bounces go. */
  author: string;
}

/** Once for each message: the page of the list is drawn again every few seconds. */
const summaries = new WeakMap<InboxMessage, Promise<MessageSummary>>();

export function summaryOf(message: InboxMessage): Promise<MessageSummary> {
  const known = summaries.get(message) ?? summarize(message);
  summaries.set(message, known);
  return known;
}

async function summarize({ id, from, to, at, raw }: InboxMessage): Promise<MessageSummary> {
  const parsed = await parse(Buffer.from(`${fieldsOf(raw)}\r\n`, 'latin1'));
  return { id, from, to, at, bytes: raw.length, subject: (parsed.subject ?? '').slice(0, 500), author: authorOf(parsed, from) };
}

/** The lines of the header that the list shows. */
function fieldsOf(raw: Buffer): string {
  const end = raw.indexOf('\r\n\r\n');
  const lines = raw.toString('latin1', 0, Math.min(end < 0 ? raw.length : end, maxHeaderBytes)).split('\r\n');
  let isKept = false;
  const kept = lines.filter((line) => {
    if (!/^[ \t]/.test(line)) isKept = /^(?:subject|from):/i.test(line);
    return isKept;
  });
  return `${kept.join('\r\n').slice(0, maxReadBytes)}\r\n`;
}

/** The beginning that a page parses; the same buffer where that is all of it. */
function beginningOf(raw: Buffer): Buffer {
  let end = 0;
  for (let line = 0; line < maxParsedLines; line++) {
    const next = raw.indexOf(10, end);
    if (next < 0 || next >= maxParsedBytes) return raw.subarray(0, maxParsedBytes);
    end = next + 1;
  }
  return raw.subarray(0, end);
}

const authorOf = ({ from: author }: ParsedMessage, envelopeFrom: string): string =>
  (author?.address ? (author.name ? `${author.name} <${author.address}>` : author.address) : envelopeFrom).slice(0, 500);

interface ParsedMessage {
  subject?: string;
  from?: { name?: string; address?: string };
  text?: string;
  html?: string;
  attachments: { filename: string | null; mimeType: string }[];
}

/** A message that cannot be parsed is shown by its source alone. */
const parse = (raw: Buffer): Promise<ParsedMessage> =>
  PostalMime.parse(raw, { maxNestingDepth: 50, maxHeadersSize: 1_000_000, forceRfc822Attachments: true } as never).catch(() => ({
    attachments: [],
  })) as Promise<ParsedMessage>;

export const overviewPage = (url: string): string =>
  `${links}<p>This server was started with <code>--try</code>. It has its own DNS, takes all mail itself, and its pages reach the phone here. Nothing leaves this machine.</p>${list(
    [
      '<a href="/try/inbox">Inbox</a>: every message that this server sent',
      '<a href="/try/phone">Phone</a>: text messages and calls, with buttons that answer them',
      `<a href="/try/echo">Webhooks</a>: deliveries to <code>${shown(url)}/try/echo</code>, with their verified signatures`,
      '<a href="/docs">Every operation of the API</a>',
    ],
    '',
  )}<p>To begin: <code>quarterdeck try push</code>, <code>try mail</code>, <code>try page</code>, <code>try monitor</code>, <code>try cluster</code>.</p>`;

export const inboxPage = (messages: readonly MessageSummary[]): string =>
  links +
  list(
    messages.map(
      ({ id, author, to, at, subject }) =>
        `<a href="/try/inbox/${id}"><bdi>${shown(subject || '(no subject)')}</bdi></a><br><span class="faint">${when(at)} · from <bdi>${shown(author)}</bdi> to <bdi>${shown(to.slice(0, 5).join(', '))}${to.length > 5 ? ` and ${to.length - 5} more` : ''}</bdi></span>`,
    ),
    'No mail yet. <code>quarterdeck try mail</code> sends some.',
  );

export async function messagePage(message: InboxMessage): Promise<{ title: string; body: string }> {
  const { id, from, to, at, raw } = message;
  const beginning = beginningOf(raw);
  const parsed = await parse(beginning);
  const { subject = '', text, html, attachments } = parsed;
  const parts = [
    links,
    `<p class="faint">${when(at)}<br>from <bdi>${shown(authorOf(parsed, from))}</bdi><br>to <bdi>${shown(to.join(', '))}</bdi><br>bounces to <bdi>${shown(from || 'nowhere: this is a report')}</bdi></p>`,
    text === undefined ? '' : block(text),
    ...(attachments.length
      ? [`<p>Attached: ${attachments.map((a) => `<bdi>${shown(`${a.filename ?? 'unnamed'} (${a.mimeType})`)}</bdi>`).join(', ')}</p>`]
      : []),
    // The frame has an origin of its own, and its answer allows no script and no request.
    html
      ? `<h2>As HTML</h2><iframe sandbox title="The message as HTML" src="/try/inbox/${id}/html" width="100%" height="480"></iframe>`
      : '',
    `<p>${beginning.length < raw.length ? 'The message is longer than this page shows. ' : ''}<a href="/try/inbox/${id}/raw">Source</a></p>`,
  ];
  return { title: visible(subject) || '(no subject)', body: parts.join('') };
}

/** For a title, which `renderHtml` escapes itself. */
const visible = (text: string) => text.slice(0, 500).replaceAll(disruptive, '\ufffd');

export const htmlOf = async (message: InboxMessage): Promise<string> => (await parse(beginningOf(message.raw))).html ?? '';

export const phonePage = (items: readonly PhoneItem[]): string =>
  links +
  list(
    items.map(
      ({ id, kind, to, at, text, status, replies }) =>
        `<strong>${kind === 'call' ? 'Call' : 'SMS'}</strong> <span class="faint">${when(at)} · to ${shown(to)} · ${shown(status)}</span><p class="words">${shown(text)}</p>${replies.map((reply) => `<p class="words">↩ ${shown(reply)}</p>`).join('')}<form method="post" action="/try/phone/${id}/acknowledge"><button>${kind === 'call' ? 'Press 1: acknowledge' : 'Reply: acknowledge'}</button></form><form method="post" action="/try/phone/${id}/resolve"><button>${kind === 'call' ? 'Press 2: resolve' : 'Reply: resolve'}</button></form>`,
    ),
    'Nothing has rung yet. <code>quarterdeck try page</code> pages you.',
  );

export const echoPage = (deliveries: readonly EchoedDelivery[], url: string): string =>
  `${links}<p>Point a webhook at <code>${shown(url)}/try/echo</code>.</p>${list(
    deliveries.map(
      ({ at, path, headers, body, signedBy }) =>
        `${signedBy ? `<strong>✓ signed by ${shown(signedBy)}</strong>` : '<strong>✗ not signed by an endpoint here</strong>'} <span class="faint">${when(at)} · ${shown(path)}</span>${block(
          Object.entries(headers)
            .map(([name, value]) => `${name}: ${value}\n`)
            .join(''),
        )}${block(indented(body))}`,
    ),
    'Nothing yet.',
  )}`;

const indented = (body: string): string => {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
};
