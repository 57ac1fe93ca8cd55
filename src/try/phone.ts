import { createHmac, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { guarded } from '../kernel/faults/guarded.ts';
import { wallClock } from '../kernel/wall-clock.ts';
import { BoundedList } from './bounded-list.ts';
import { readBody } from './read-body.ts';

// The paging phone: a provider on loopback that speaks as much of Twilio's API as paging needs, and the phone that rings. It takes every
// account; callbacks are signed with the token that the account logged in with, as the real provider signs them.

/** A text message or a call that reached the phone. */
export interface PhoneItem {
  id: number;
  sid: string;
  kind: 'message' | 'call';
  to: string;
  from: string;
  /** The words that a person reads or hears. */
  text: string;
  at: string;
  status: string;
  account: { sid: string; token: string };
  /** What came back after each answer, newest last. */
  replies: string[];
  twiml: string;
  statusCallback: string;
}

export interface Phone {
  url: string;
  items: BoundedList<PhoneItem>;
  /** Presses a key during a call, or texts a word back. Resolves with the server's words. */
  answer(item: PhoneItem, given: PhoneAnswer): Promise<string>;
  stop(): Promise<void>;
}

export type PhoneAnswer = 'acknowledge' | 'resolve';

/** Sends a form to this server; no other address is called. */
export type PostForm = (url: string, fields: Record<string, string>, headers: Record<string, string>) => Promise<string>;

const phoneLimits = { items: 200, bytes: 4 * 2 ** 20 };
const maxBodyBytes = 65_536;
const maxReplies = 10;

export async function startPhone(post: PostForm): Promise<Phone> {
  const items = new BoundedList<PhoneItem>(phoneLimits.items, phoneLimits.bytes);
  const send = async (item: PhoneItem, url: string, fields: Record<string, string>) => {
    const all = { AccountSid: item.account.sid, ...fields };
    return post(url, all, { 'x-twilio-signature': signatureOf(item.account.token, url, all) });
  };
  const report = (item: PhoneItem, status: string) => {
    item.status = status;
    if (!item.statusCallback) return;
    const fields: Record<string, string> =
      item.kind === 'message' ? { MessageSid: item.sid, MessageStatus: status } : { CallSid: item.sid, CallStatus: status };
    // The report may cross the answer that names the sid; the server keeps pages by its own id.
    send(item, item.statusCallback, { ...fields, To: item.to, From: item.from }).catch(() => {});
  };
  const server = createServer(
    guarded(
      'try.phone',
      ([, response]) => response,
      async (request: IncomingMessage, response: ServerResponse) => {
        const { status, body } = await handleRequest(request, items, report);
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
      },
    ),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    items,
    answer: async (item, given) => {
      const said = wordsOf(item.kind === 'call' ? await pressKey(item, given, send) : await textBack(item, given, send));
      item.replies.push(`${given}: ${said}`);
      if (item.replies.length > maxReplies) item.replies.shift();
      if (item.kind === 'call') report(item, 'completed');
      return said;
    },
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

type Send = (item: PhoneItem, url: string, fields: Record<string, string>) => Promise<string>;

function pressKey(item: PhoneItem, given: PhoneAnswer, send: Send): Promise<string> {
  const action = between(item.twiml.slice(Math.max(0, item.twiml.indexOf('<Gather '))), ' action="', '"');
  if (!action) throw new Error('the call listens for no key');
  return send(item, unescaped(action), { CallSid: item.sid, Digits: given === 'acknowledge' ? '1' : '2' });
}

/** Replies go to the address that the organization's number would have at the provider. The report's address names the organization. */
function textBack(item: PhoneItem, given: PhoneAnswer, send: Send): Promise<string> {
  const base = /^(.*\/api\/v1\/oncall\/twilio\/[^/]+)\/[^/]+\/status$/.exec(item.statusCallback)?.[1];
  if (!base) throw new Error('the message says nothing about where replies go');
  const code = /\b(\d{4})a\b/.exec(item.text)?.[1] ?? '';
  return send(item, `${base}/sms`, { From: item.to, To: item.from, Body: `${code}${given === 'acknowledge' ? 'a' : 'r'}` });
}

interface ProviderAnswer {
  status: number;
  body: unknown;
}

const refusal = (status: number, code: number, message: string): ProviderAnswer => ({ status, body: { status, code, message } });

async function handleRequest(
  request: IncomingMessage,
  items: BoundedList<PhoneItem>,
  report: (item: PhoneItem, status: string) => void,
): Promise<ProviderAnswer> {
  const url = new URL(request.url ?? '/', 'http://phone.invalid');
  const [, sid, noun = ''] = /^\/2010-04-01\/Accounts\/(AC\w{1,64})(?:\/([A-Za-z]+))?\.json$/.exec(url.pathname) ?? [];
  const account = readAccount(request.headers.authorization);
  const body = await readBody(request, maxBodyBytes);
  if (!sid || !body) return refusal(404, 20404, 'The requested resource was not found');
  if (account?.sid !== sid) return refusal(401, 20003, 'Authenticate');
  const form = new URLSearchParams(body.toString());
  const listed = (kind: PhoneItem['kind']) =>
    items.newestFirst().filter((item) => item.kind === kind && item.account.sid === sid && item.to === url.searchParams.get('To'));
  switch (`${request.method} ${noun}`) {
    case 'GET ':
      return { status: 200, body: { sid, status: 'active', type: 'Full' } };
    case 'GET IncomingPhoneNumbers':
      return {
        status: 200,
        body: { incoming_phone_numbers: [{ phone_number: url.searchParams.get('PhoneNumber'), capabilities: { sms: true, voice: true } }] },
      };
    case 'GET Messages':
      return { status: 200, body: { messages: listed('message').map(itemView) } };
    case 'GET Calls':
      return { status: 200, body: { calls: listed('call').map(itemView) } };
    case 'POST Messages':
    case 'POST Calls':
      return { status: 201, body: itemView(takeItem(noun === 'Calls' ? 'call' : 'message', form, account, items, report)) };
    default:
      return refusal(404, 20404, 'The requested resource was not found');
  }
}

function takeItem(
  kind: PhoneItem['kind'],
  form: URLSearchParams,
  account: PhoneItem['account'],
  items: BoundedList<PhoneItem>,
  report: (item: PhoneItem, status: string) => void,
): PhoneItem {
  const twiml = form.get('Twiml') ?? '';
  const item = items.add(
    {
      sid: `${kind === 'message' ? 'SM' : 'CA'}${randomBytes(16).toString('hex')}`,
      kind,
      to: form.get('To') ?? '',
      from: form.get('From') ?? '',
      text: kind === 'call' ? wordsOf(twiml) : (form.get('Body') ?? ''),
      at: wallClock().toISOString(),
      status: kind === 'call' ? 'ringing' : 'queued',
      account,
      replies: [],
      twiml,
      statusCallback: form.get('StatusCallback') ?? '',
    },
    form.toString().length,
  );
  if (kind === 'message') setImmediate(() => report(item, 'delivered'));
  return item;
}

const itemView = ({ sid, status, to, from, kind, text, at }: PhoneItem) => ({
  sid,
  status,
  to,
  from,
  body: kind === 'message' ? text : null,
  date_created: new Date(at).toUTCString(),
});

function readAccount(authorization = ''): PhoneItem['account'] | undefined {
  const [, encoded = ''] = /^Basic (\S+)$/.exec(authorization) ?? [];
  const [, sid, token] = /^(AC\w{1,64}):(.{1,128})$/.exec(Buffer.from(encoded, 'base64').toString()) ?? [];
  return sid && token ? { sid, token } : undefined;
}

/** Twilio's signature: HMAC-SHA1 over the URL and the sorted fields. */
const signatureOf = (token: string, url: string, fields: Record<string, string>): string =>
  createHmac('sha1', token)
    .update(
      Object.keys(fields)
        .sort()
        .reduce((text, name) => text + name + fields[name], url),
    )
    .digest('base64');

const unescaped = (text: string) => text.replaceAll(/&#(\d{1,6});/g, (_, code) => String.fromCodePoint(Number(code)));

/** The text between two marks; undefined without both. */
function between(text: string, begin: string, end: string): string | undefined {
  const from = text.indexOf(begin);
  const to = from < 0 ? -1 : text.indexOf(end, from + begin.length);
  return to < 0 ? undefined : text.slice(from + begin.length, to);
}

/** What a person hears or reads; a call repeats itself, and is shown once. */
function wordsOf(twiml: string): string {
  const spoken = ['Say', 'Message'].flatMap((verb) =>
    twiml
      .split(`<${verb}>`)
      .slice(1)
      .map((rest) => rest.split('<', 1)[0]!),
  );
  return [...new Set(spoken.map(unescaped))].join(' ');
}
