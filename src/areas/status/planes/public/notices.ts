import type { IncomingMessage, ServerResponse } from 'node:http';
import { Refusal } from '../../../../kernel/errors.ts';
import { discard } from '../../../../kernel/http/discard.ts';
import { escaped } from '../../../../kernel/http/html.ts';
import { planeHeaders } from '../../../../kernel/http/plane.ts';
import { noticeOf, type RenderedPage } from '../../views/render/document.ts';

/** Sends a short page made for this request. */
export function sendNotice(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  made: RenderedPage,
  more: Record<string, string> = {},
) {
  const body = Buffer.from(made.html);
  discard(request);
  response.writeHead(status, [
    ...planeHeaders(request),
    ...['Content-Type', 'text/html; charset=utf-8'],
    ...['Content-Length', String(body.length)],
    ...['Content-Security-Policy', made.policy],
    ...['Cache-Control', 'no-store'],
    ...Object.entries(more).flat(),
  ]);
  response.end(request.method === 'HEAD' ? undefined : body);
}

const notFoundNotice = noticeOf('There is no such page', '<p>The address is not that of a status page, or the page was taken down.</p>');
const unavailableNotice = noticeOf(
  'The status cannot be read at the moment',
  '<p>The page exists as ever, but we cannot reach what it is made from. Please try again in a moment.</p>',
);
const wrongMethodNotice = noticeOf('This cannot be done here', '<p>Pages of this address can be read, and nothing else.</p>');

export const sendNotFound = (request: IncomingMessage, response: ServerResponse) => sendNotice(request, response, 404, notFoundNotice);
export const sendUnavailable = (request: IncomingMessage, response: ServerResponse) =>
  sendNotice(request, response, 503, unavailableNotice, { 'Retry-After': '5' });
export const sendWrongMethod = (request: IncomingMessage, response: ServerResponse, allow: string) =>
  sendNotice(request, response, 405, wrongMethodNotice, { Allow: allow });

/** Answers an error: readers are asked to try again, or told that another process serves the pages. */
export function sendRefusal(request: IncomingMessage, response: ServerResponse, error: unknown) {
  if (!(error instanceof Refusal) || error.code !== 'served_elsewhere') return sendUnavailable(request, response);
  sendNotice(request, response, error.status, noticeOf('There are no status pages here', `<p>${escaped(error.message)}</p>`));
}
