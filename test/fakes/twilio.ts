import { createHmac, randomBytes } from 'node:crypto';
import { EventEmitter } from 'node:events';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

// A small Twilio: accounts, numbers, messages and calls that remember, callbacks that are signed, TwiML that is executed with the
// keys a test presses, and faults on demand. Its own arithmetic, so that a mistake of ours is not made twice.

export interface Sent {
  sid: string;
  kind: 'message' | 'call';
  to: string;
  from: string;
  /** What the person reads or hears. */
  text: string;
  twiml?: string;
  statusCallback?: string;
  status: string;
  dateCreated: string;
}

export type Fault =
  /** Refused with Twilio's own error body. */
  | { status: number; code?: number; message?: string }
  /** Taken, but the answer never arrives: the connection is cut. */
  | 'cut-after-taking'
  | 'silence';

export interface FakeTwilio {
  url: string;
  accountSid: string;
  authToken: string;
  fromNumber: string;
  sent: Sent[];
  account: { status: string; capabilities: { sms: boolean; voice: boolean } };
  /** The next requests that match a path meet these, in order. */
  fail(path: RegExp, ...faults: Fault[]): void;
  /** The first thing sent (since the last call that returned it) that matches; waits for it. */
  received(match: { to: string; text?: RegExp; kind?: Sent['kind'] }): Promise<Sent>;
  /** Tells what became of it, signed, to the address that was given with it. */
  report(sid: string, status: string, errorCode?: number): Promise<number>;
  /** Somebody picks up and presses these keys, one Gather after the other; what was said in the end. */
  pickUp(sid: string, keys: string): Promise<string>;
  /** Somebody texts back; `to` is where the number's own messages go. What we answer. */
  text(to: string, from: string, body: string): Promise<{ status: number; reply: string }>;
  sign(url: string, fields: Record<string, string>): string;
  close(): Promise<void>;
}

const plain = (text: string) => text.replaceAll(/&#(\d+);/g, (_, n) => String.fromCharCode(Number(n)));
const said = (twiml: string) => [...twiml.matchAll(/<(?:Say|Message)>([^<]*)<\/(?:Say|Message)>/g)].map((m) => plain(m[1]!)).join(' ');

export async function fakeTwilio(): Promise<FakeTwilio> {
  const accountSid = `AC${randomBytes(16).toString('hex')}`;
  const authToken = randomBytes(16).toString('hex');
  const fromNumber = '+15005550006';
  const account = { status: 'active', capabilities: { sms: true, voice: true } };
  const sent: Sent[] = [];
  const seen = new Set<string>();
  const faults: { path: RegExp; list: Fault[] }[] = [];
  const arrivals = new EventEmitter().setMaxListeners(1000);

  const sign = (url: string, fields: Record<string, string>) =>
    createHmac('sha1', authToken)
      .update(
        Object.keys(fields)
          .sort()
          .reduce((text, name) => text + name + fields[name], url),
      )
      .digest('base64');

  const post = async (url: string, fields: Record<string, string>) => {
    const answer = await fetch(url, {
      method: 'POST',
      headers: { 'x-twilio-signature': sign(url, fields) },
      body: new URLSearchParams(fields),
      signal: AbortSignal.timeout(10_000),
    });
    return { status: answer.status, text: await answer.text() };
  };

  const make = (kind: Sent['kind'], form: URLSearchParams): Sent => {
    const twiml = form.get('Twiml') ?? undefined;
    const statusCallback = form.get('StatusCallback') ?? undefined;
    const item: Sent = {
      sid: `${kind === 'message' ? 'SM' : 'CA'}${randomBytes(16).toString('hex')}`,
      kind,
      to: form.get('To') ?? '',
      from: form.get('From') ?? '',
      text: twiml ? said(twiml) : (form.get('Body') ?? ''),
      ...(twiml ? { twiml } : {}),
      ...(statusCallback ? { statusCallback } : {}),
      status: 'queued',
      dateCreated: new Date().toUTCString(),
    };
    sent.push(item);
    arrivals.emit('sent');
    return item;
  };

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const url = new URL(request.url!, 'http://twilio.invalid');
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const form = new URLSearchParams(Buffer.concat(chunks).toString());
    const json = (status: number, body: unknown) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    const refuse = (status: number, code: number, message: string) => json(status, { status, code, message, more_info: '' });

    const queue = faults.find((f) => f.path.test(url.pathname) && f.list.length);
    const fault = queue?.list.shift();
    if (fault === 'silence') return;
    if (fault && fault !== 'cut-after-taking') return refuse(fault.status, fault.code ?? 20500, fault.message ?? 'fault on demand');

    const basic = `Basic ${Buffer.from(`${accountSid}:${authToken}`).toString('base64')}`;
    const m = /^\/2010-04-01\/Accounts\/([^/.]+)(?:\/([A-Za-z]+))?\.json$/.exec(url.pathname);
    if (!m) return refuse(404, 20404, 'The requested resource was not found');
    if (request.headers.authorization !== basic || m[1] !== accountSid) return refuse(401, 20003, 'Authenticate');

    const place = `${request.method} ${m[2] ?? ''}`;
    const items = (kind: Sent['kind']) =>
      sent.filter((s) => s.kind === kind && (!url.searchParams.get('To') || s.to === url.searchParams.get('To')));
    const shown = (s: Sent) => ({
      sid: s.sid,
      status: s.status,
      to: s.to,
      from: s.from,
      body: s.kind === 'message' ? s.text : null,
      date_created: s.dateCreated,
    });
    if (place === 'GET ') return json(200, { sid: accountSid, status: account.status, type: 'Full' });
    if (place === 'GET IncomingPhoneNumbers') {
      return json(200, {
        incoming_phone_numbers:
          url.searchParams.get('PhoneNumber') === fromNumber
            ? [{ phone_number: fromNumber, capabilities: { ...account.capabilities, mms: false } }]
            : [],
      });
    }
    if (place === 'GET Messages') return json(200, { messages: items('message').map(shown) });
    if (place === 'GET Calls') return json(200, { calls: items('call').map(shown) });
    if (place === 'POST Messages' || place === 'POST Calls') {
      if (!/^\+\d{7,15}$/.test(form.get('To') ?? '')) return refuse(400, 21211, "The 'To' number is not a valid phone number.");
      const made = make(place === 'POST Messages' ? 'message' : 'call', form);
      if (fault === 'cut-after-taking') return request.socket.destroy();
      return json(201, shown(made));
    }
    return refuse(404, 20404, 'The requested resource was not found');
  };

  const server = http.createServer((request, response) => void answer(request, response).catch(() => response.destroy()));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const find = (sid: string) => sent.find((s) => s.sid === sid) ?? raise(`nothing was sent with the sid ${sid}`);

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    accountSid,
    authToken,
    fromNumber,
    sent,
    account,
    sign,
    fail: (path, ...list) => void faults.push({ path, list }),
    received: async ({ to, text, kind }) => {
      const deadline = AbortSignal.timeout(10_000);
      for (;;) {
        const found = sent.find((s) => !seen.has(s.sid) && s.to === to && (!kind || s.kind === kind) && (!text || text.test(s.text)));
        if (found) {
          seen.add(found.sid);
          return found;
        }
        if (deadline.aborted)
          throw new Error(`nothing like that was sent to ${to}; sent were ${JSON.stringify(sent.map((s) => [s.to, s.text]))}`);
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, 1_000);
          arrivals.once('sent', () => {
            clearTimeout(timer);
            resolve();
          });
        });
      }
    },
    report: async (sid, status, errorCode) => {
      const item = find(sid);
      item.status = status;
      if (!item.statusCallback) return 0;
      const code: Record<string, string> = errorCode ? { ErrorCode: String(errorCode) } : {};
      const own: Record<string, string> =
        item.kind === 'message' ? { MessageSid: sid, MessageStatus: status } : { CallSid: sid, CallStatus: status };
      return (await post(item.statusCallback, { AccountSid: accountSid, To: item.to, From: item.from, ...own, ...code })).status;
    },
    pickUp: async (sid, keys) => {
      const item = find(sid);
      item.status = 'in-progress';
      let twiml = item.twiml ?? '';
      for (const key of keys) {
        const action = /<Gather[^>]* action="([^"]*)"/.exec(twiml)?.[1] ?? raise('the call does not listen for keys');
        twiml = (await post(plain(action), { AccountSid: accountSid, CallSid: sid, Digits: key })).text;
      }
      return said(twiml);
    },
    text: async (to, from, body) => {
      const { status, text } = await post(to, { AccountSid: accountSid, From: from, To: fromNumber, Body: body });
      return { status, reply: said(text) };
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const raise = (sentence: string): never => {
  throw new Error(sentence);
};
