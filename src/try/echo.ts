import type { IncomingMessage } from 'node:http';
import { wallClock } from '../kernel/wall-clock.ts';
import { BoundedList } from './bounded-list.ts';
import { readBody } from './read-body.ts';

/** A request that came to the webhook echo. */
export interface EchoedDelivery {
  id: number;
  at: string;
  path: string;
  headers: Record<string, string>;
  body: string;
  /** The endpoint whose secret signed it; undefined: none here did. */
  signedBy: string | undefined;
}

export type Echo = BoundedList<EchoedDelivery>;

/** Tells which endpoint of this server signed a delivery (Standard Webhooks). */
export type FindSigner = (delivery: {
  url: string;
  eventId: string;
  at: number;
  payload: string;
  signature: string;
}) => Promise<string | undefined>;

const echoLimits = { deliveries: 100, bytes: 16 * 2 ** 20 };
const maxBodyBytes = 4 * 2 ** 20;
const shownHeaders = ['content-type', 'user-agent', 'webhook-id', 'webhook-timestamp', 'webhook-signature'];

export const makeEcho = (): Echo => new BoundedList<EchoedDelivery>(echoLimits.deliveries, echoLimits.bytes);

/** Keeps a delivery. False: it is larger than the echo keeps. */
export async function takeDelivery(echo: Echo, request: IncomingMessage, url: string, findSigner: FindSigner): Promise<boolean> {
  const body = await readBody(request, maxBodyBytes);
  if (!body) return false;
  const headers = Object.fromEntries(
    shownHeaders.flatMap((name) => (request.headers[name] ? [[name, String(request.headers[name])]] : [])),
  );
  const payload = body.toString();
  const signature = headers['webhook-signature'];
  const signedBy = signature
    ? await findSigner({ url, eventId: headers['webhook-id'] ?? '', at: Number(headers['webhook-timestamp']), payload, signature })
    : undefined;
  echo.add({ at: wallClock().toISOString(), path: request.url ?? '', headers, body: payload, signedBy }, body.length);
  return true;
}
