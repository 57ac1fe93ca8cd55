import type { IncomingMessage, ServerResponse } from 'node:http';
import { makeAttempts } from '../../../../identity/attempts.ts';
import { rateLimit } from '../../../../identity/rate-limit.ts';
import type { App } from '../../../../kernel/app.ts';
import { Refusal } from '../../../../kernel/errors.ts';
import { holdUntilAnswered, readBody } from '../../../../kernel/http/body.ts';
import { escaped } from '../../../../kernel/http/html.ts';
import { confirmSubscription, findTokenHolder, subscribe, unsubscribe } from '../../engine/subscriptions.ts';
import { confirmationLimits } from '../../rules/confirmation-mail.ts';
import { addressOf } from '../../rules/email-address.ts';
import type { SubscriberRow } from '../../store/subscribers.ts';
import { noticeOf } from '../../views/render/document.ts';
import { sendNotice } from './notices.ts';
import type { ShownStatusPage } from './page-cache.ts';

type Link = ({ to: 'subscribe'; slug: string } | { to: 'confirm' | 'unsubscribe'; slug: string; token: string }) & { isAtRoot: boolean };

export type Forms = (request: IncomingMessage, response: ServerResponse, route: Link, page: ShownStatusPage) => Promise<void>;

type SendFormNotice = (status: number, heading: string, body: string, headers?: Record<string, string>) => void;

/** One form request, and how to answer it. */
interface FormRequest {
  app: App;
  request: IncomingMessage;
  response: ServerResponse;
  page: ShownStatusPage;
  sendFormNotice: SendFormNotice;
}

const bodyLimits = { maxBytes: 4_096, totalMs: 10_000 };
/**
 * Subscribe requests per minute, per client and per page. Mails to one address are limited in engine/confirmation-limits.ts. Only wrong
 * links are counted, because large mail providers unsubscribe all their users from a few addresses.
 */
const perMinute = { client: 10, page: 60 };

/** The readers' forms: subscribe, confirm, unsubscribe. GET only shows a button, because mail scanners follow links. */
export function makeForms(app: App): Forms {
  const perClient = rateLimit(perMinute.client);
  const pages = rateLimit(perMinute.page);
  const { peers } = app;
  const attempts = makeAttempts(app);

  return async (request, response, route, page) => {
    const { title, accent, subscribable } = page.renderings.board;
    const sendFormNotice: SendFormNotice = (status, heading, body, headers) =>
      sendNotice(
        request,
        response,
        status,
        noticeOf(heading, `${body}<p><a href="${up(route, page)}">${escaped(title)}</a></p>`, accent),
        headers,
      );
    const slowDown = (headers: Record<string, string>) =>
      sendFormNotice(429, 'Too many requests', '<p>Please wait a moment and try again.</p>', headers);
    const formRequest = { app, request, response, page, sendFormNotice };

    if (route.to === 'subscribe') {
      if (!subscribable)
        return sendFormNotice(503, 'No mail leaves this page', '<p>Its operator has set up no mail server. Follow the feed instead.</p>');
      // The client's limit comes first, so that a blocked client does not use up the page's shared limit.
      const clientVerdict = perClient.take(peers.of(request));
      const verdict = clientVerdict.allowed ? pages.take(page.pageId) : clientVerdict;
      return verdict.allowed ? answerSubscribe(formRequest) : slowDown({ 'Retry-After': String(verdict.resetSeconds) });
    }

    const holder = await attempts
      .lookUp(request, undefined, () => app.db.read((tx) => findTokenHolder(tx, page.pageId, route.token)))
      .catch(refusalOf);
    if (holder instanceof Refusal) return slowDown(holder.headers);
    return route.to === 'confirm' ? answerConfirm(formRequest, holder) : answerUnsubscribe(formRequest, holder);
  };
}

async function answerSubscribe(formRequest: FormRequest): Promise<void> {
  const { app, page, sendFormNotice } = formRequest;
  const form = await readForm(formRequest).catch(refusalOf);
  const address = addressOf(form instanceof Refusal ? '' : (form.get('address') ?? ''));
  if (!address) return sendFormNotice(400, 'This is no email address', '<p>Go back, and enter one such as you@example.com.</p>');
  const subscribeRequest = { address, client: app.peers.of(formRequest.request) };
  const heldBack = await app.db.write((tx) => subscribe(tx, app.secrets, { org: page.org, id: page.pageId }, subscribeRequest));
  if (heldBack === 'client' || heldBack === 'organization')
    return sendFormNotice(
      429,
      'Too many subscriptions',
      '<p>No further link can be sent at the moment. Please try again in an hour or tomorrow, or follow the feed.</p>',
      {
        'Retry-After': '3600',
      },
    );
  // The same answer whether the address is new, pending, subscribed or at its daily limit, so that it does not reveal who reads this page.
  sendFormNotice(
    200,
    'Look into your mailbox',
    `<p>If ${escaped(address)} is not subscribed yet, we have sent it a link. Updates come once it is followed, within 24 hours.</p>
<p>An address is sent at most ${confirmationLimits.recipient.day} links a day, no matter who asks for them. If none comes, try again tomorrow or follow the feed.</p>`,
  );
}

async function answerConfirm({ app, request, sendFormNotice }: FormRequest, holder: SubscriberRow | undefined): Promise<void> {
  if (!holder)
    return sendFormNotice(
      404,
      'This link does not work any more',
      '<p>It was for 24 hours, or its subscription has ended. Subscribe again to get a new one.</p>',
    );
  const address = escaped(holder.address);
  if (request.method !== 'POST' && holder.state === 'pending')
    return sendFormNotice(200, 'Subscribe to updates?', `<p>${address} will get one mail for each update.</p>${button('Subscribe')}`);
  if (request.method === 'POST') await app.db.write((tx) => confirmSubscription(tx, holder));
  sendFormNotice(200, 'You are subscribed', `<p>${address} gets one mail for each update. Every mail has a link to leave.</p>`);
}

async function answerUnsubscribe({ app, request, sendFormNotice }: FormRequest, holder: SubscriberRow | undefined): Promise<void> {
  if (request.method === 'POST') {
    // RFC 8058: mail programs send this POST themselves, possibly twice.
    if (holder) await app.db.write((tx) => unsubscribe(tx, holder));
    return sendFormNotice(200, 'You are not subscribed', '<p>No further mail will come from this page.</p>');
  }
  if (!holder)
    return sendFormNotice(200, 'You are not subscribed', '<p>No mail goes from this page to the address that this link was for.</p>');
  sendFormNotice(
    200,
    'Stop the updates?',
    `<p>${escaped(holder.address)} will get no further mail from this page.</p>${button('Unsubscribe')}`,
  );
}

const button = (label: string) => `<form method="post"><button type="submit">${label}</button></form>`;
const up = ({ to, isAtRoot }: Link, { renderings }: ShownStatusPage) => {
  const { links } = (isAtRoot ? renderings.atRoot() : renderings).board;
  return to === 'subscribe' ? links.up : links.twiceUp;
};

const refusalOf = (error: unknown): Refusal => {
  if (error instanceof Refusal) return error;
  throw error;
};

async function readForm({ app, request, response }: FormRequest): Promise<URLSearchParams> {
  const held = holdUntilAnswered(app.bodies, { address: app.peers.of(request) }, response);
  const body = await readBody(request, { ...bodyLimits, held });
  return new URLSearchParams(body.toString());
}
