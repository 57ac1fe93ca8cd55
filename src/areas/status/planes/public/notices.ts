import type { IncomingMessage, ServerResponse } from 'node:http';
import { discard } from '../../../../kernel/http/body.ts';
import { requestIdHeader } from '../../../../kernel/http/request-id.ts';
import { type Made, noticeOf } from '../../views/render/document.ts';

/** A page that says one thing, made for this request. */
export function sendNotice(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  made: Made,
  more: Record<string, string> = {},
) {
  const body = Buffer.from(made.html);
  discard(request);
  response.writeHead(status, {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Length': body.length,
    'Content-Security-Policy': made.policy,
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
    'Cache-Control': 'no-store',
    ...(status >= 400 ? requestIdHeader(request) : {}),
    ...more,
  });
  response.end(request.method === 'HEAD' ? undefined : body);
}

const missing = noticeOf('There is no such page', '<p>The address is not that of a status page, or the page was taken down.</p>');
const away = noticeOf(
  'The status cannot be read at the moment',
  '<p>The page exists as ever, but we cannot reach what it is made from. Please try again in a moment.</p>',
);
const wrongMethod = noticeOf('This cannot be done here', '<p>Pages of this address can be read, and nothing else.</p>');

export const sendMissing = (request: IncomingMessage, response: ServerResponse) => sendNotice(request, response, 404, missing);
export const sendAway = (request: IncomingMessage, response: ServerResponse) =>
  sendNotice(request, response, 503, away, { 'Retry-After': '5' });
export const sendWrongMethod = (request: IncomingMessage, response: ServerResponse, allow: string) =>
  sendNotice(request, response, 405, wrongMethod, { Allow: allow });
