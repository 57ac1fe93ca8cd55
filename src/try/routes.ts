import type { IncomingMessage, ServerResponse } from 'node:http';
import { htmlPolicy, renderHtml } from '../kernel/http/html.ts';
import { type RawHandler, setPlaneHeaders } from '../kernel/http/plane.ts';
import type { Logger } from '../kernel/log.ts';
import { addBanner } from './banner.ts';
import { type Echo, takeDelivery } from './echo.ts';
import type { TryHost } from './host.ts';
import type { Inbox } from './mail-sink.ts';
import * as pages from './pages.ts';
import type { Phone, PhoneAnswer } from './phone.ts';

export interface TryParts {
  inbox: Inbox;
  echo: Echo;
  phone: Phone;
  /** Undefined until the server is ready. */
  host(): TryHost | undefined;
  log: Logger;
}

interface TryRequest {
  parts: TryParts;
  host: TryHost;
  path: string;
  request: IncomingMessage;
  response: ServerResponse;
}

/** Serves /try on the main port. Every response of the server that is a page gets the banner. */
export function routesOf(parts: TryParts): RawHandler {
  const take: RawHandler = (request, response) => {
    const [path = ''] = (request.url ?? '').split('?', 1);
    if (path !== '/try' && !path.startsWith('/try/')) return false;
    setPlaneHeaders(request, response);
    const host = parts.host();
    if (!host) sendText(response, 503, 'the server is starting; try again in a moment');
    else if (!isLoopbackName(request.headers.host)) sendText(response, 403, 'these pages are for this machine: open them at 127.0.0.1');
    else
      serve({ parts, host, path, request, response }).catch((error) => {
        parts.log.warn({ err: error, path }, 'a page of --try failed');
        if (response.headersSent) response.destroy();
        else sendText(response, 500, (error as Error).message);
      });
    return true;
  };
  take.takeReady = (request, response) => {
    if (!isMailBody(request.url ?? '')) addBanner(request, response);
    return false;
  };
  return take;
}

/** The HTML of a message, which is shown as its sender wrote it. */
const isMailBody = (url: string) => url.startsWith('/try/inbox/') && url.endsWith('/html');

const loopbackNames = ['127.0.0.1', 'localhost', '[::1]'];

/** The pages have no login. A site that gives its own name this address must not read them (DNS rebinding). */
const isLoopbackName = (host = '') => loopbackNames.includes(URL.parse(`http://${host}/`)?.hostname ?? '');

/**
 * A form of another site may not press buttons here. Browsers say in Sec-Fetch-Site where a form is from; in Origin they say `null` for our own
 * forms too where a page sends no referrer.
 */
const isOwnForm = ({ headers }: IncomingMessage) =>
  headers['sec-fetch-site'] === 'same-origin' || headers.origin === undefined || headers.origin === `http://${headers.host}`;

async function serve(asked: TryRequest): Promise<void> {
  const { request, response, path } = asked;
  const [, , room = '', id = '', what = ''] = path.split('/');
  if (room === 'echo' && request.method === 'POST') return receiveDelivery(asked);
  if (room === 'phone' && request.method === 'POST') return answerPhone(asked, Number(id), what);
  if (request.method !== 'GET' && request.method !== 'HEAD') return sendText(response, 405, 'this page is only read');
  if (room === 'inbox' && id) return showMessage(asked, Number(id), what);
  return showList(asked, room);
}

async function showList({ parts: { inbox, echo, phone }, host, response }: TryRequest, room: string): Promise<void> {
  switch (room) {
    case '':
      return sendPage(response, 'Try Quarterdeck', pages.overviewPage(host.url()));
    case 'about.json':
      return sendJson(response, { try: true, url: host.url() });
    case 'inbox':
      return sendPage(response, 'Inbox', pages.inboxPage(await summaries(inbox)), live);
    case 'inbox.json':
      return sendJson(response, { messages: await summaries(inbox) });
    case 'phone':
      return sendPage(response, 'Phone', pages.phonePage(phone.items.newestFirst()), live);
    case 'phone.json':
      return sendJson(response, {
        items: phone.items
          .newestFirst()
          .map(({ id, kind, to, text, at, status, replies }) => ({ id, kind, to, text, at, status, replies })),
      });
    case 'echo':
      return sendPage(response, 'Webhooks', pages.echoPage(echo.newestFirst(), host.url()), live);
    case 'echo.json':
      return sendJson(response, { deliveries: echo.newestFirst() });
    default:
      return sendText(response, 404, 'there is no such page; see /try/');
  }
}

const summaries = (inbox: Inbox) => Promise.all(inbox.newestFirst().map(pages.summaryOf));

/** Of a message as HTML: no script, no request to anywhere, an origin of its own. */
const mailPolicy = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'";

async function showMessage({ parts: { inbox }, response }: TryRequest, id: number, what: string): Promise<void> {
  const message = inbox.find(id);
  if (!message) return sendText(response, 404, 'there is no such message any more; the inbox keeps the newest');
  if (what === 'raw') return sendText(response, 200, message.raw.toString());
  if (what === 'html') {
    response.writeHead(200, {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': mailPolicy,
      'cache-control': 'no-store',
    });
    return void response.end(await pages.htmlOf(message));
  }
  const { title, body } = await pages.messagePage(message);
  return sendPage(response, title, body, { 'content-security-policy': `${htmlPolicy}; frame-src 'self'` });
}

async function receiveDelivery({ parts: { echo }, host, request, response }: TryRequest): Promise<void> {
  const isTaken = await takeDelivery(echo, request, `http://${request.headers.host}${request.url}`, host.findSigner);
  return isTaken ? sendText(response, 200, 'taken') : sendText(response, 413, 'the echo keeps at most 4 MiB of a delivery');
}

async function answerPhone({ parts: { phone }, request, response }: TryRequest, id: number, what: string): Promise<void> {
  request.resume();
  const item = phone.items.find(id);
  if (!isOwnForm(request)) return sendText(response, 403, 'this form is of another site');
  if (!item || (what !== 'acknowledge' && what !== 'resolve')) return sendText(response, 404, 'nothing like that is on the phone any more');
  await phone.answer(item, what satisfies PhoneAnswer);
  response.writeHead(303, { location: '/try/phone', 'cache-control': 'no-store' }).end();
}

/** Lists show what arrives: without script, the browser loads them again. */
const live = { refresh: '5' };

function sendPage(response: ServerResponse, title: string, body: string, headers: Record<string, string> = {}): void {
  // With `no-referrer` a browser gives the origin of this page's forms as `null`.
  const policies = { 'content-security-policy': htmlPolicy, 'referrer-policy': 'same-origin' };
  const sent = { ...policies, 'cache-control': 'no-store', ...headers };
  response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', ...sent }).end(renderHtml(title, body));
}

const sendText = (response: ServerResponse, status: number, text: string): void =>
  void response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' }).end(`${text}\n`);

const sendJson = (response: ServerResponse, body: unknown): void =>
  void response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-store' }).end(JSON.stringify(body));
