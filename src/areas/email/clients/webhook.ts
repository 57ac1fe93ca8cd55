import { createHmac } from 'node:crypto';
import { type Guard, GuardFailure, GuardRefusal, type GuardResponse } from '../../../kernel/guard/index.ts';

/** One attempt to tell an endpoint of an event. */
export interface Telling {
  url: string;
  /** Whose connections are used: the endpoint's, which no other endpoint shares, whatever its address. */
  endpointId: string;
  /** `whsec_…` */
  secret: string;
  eventId: string;
  /** Seconds, when the attempt is made. */
  at: number;
  payload: string;
}

export interface Reply {
  /** Undefined: there was no answer. */
  status?: number;
  retryAfter?: string;
  /** Undefined: it was taken. */
  error?: string;
}

const patienceMs = 15_000;
/** So much of an answer that is no success is kept. */
const mostAnswerBytes = 4_096;

/** Standard Webhooks 1.0: the secret's bytes sign id, time and body. */
export const signEvent = ({ secret, eventId, at, payload }: Omit<Telling, 'url' | 'endpointId'>): string =>
  `v1,${createHmac('sha256', Buffer.from(secret.replace(/^whsec_/, ''), 'base64'))
    .update(`${eventId}.${at}.${payload}`)
    .digest('base64')}`;

/** What the other side, or the guard, has to say. Rejects only if we are told to stop, or are broken ourselves. */
export async function postEvent({ fetch }: Pick<Guard, 'fetch'>, telling: Telling, signal: AbortSignal): Promise<Reply> {
  try {
    const response = await fetch('webhook', telling.url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'webhook-id': telling.eventId,
        'webhook-timestamp': String(telling.at),
        'webhook-signature': signEvent(telling),
      },
      body: telling.payload,
      signal,
      timeouts: { totalMs: patienceMs, connectMs: patienceMs, headersMs: patienceMs, idleMs: patienceMs },
      decompress: false,
      keptFor: telling.endpointId,
    });
    return await readReply(response);
  } catch (error) {
    if (signal.aborted || !(error instanceof GuardRefusal || error instanceof GuardFailure)) throw error;
    return { error: error.message };
  }
}

async function readReply(response: GuardResponse): Promise<Reply> {
  const { status, headers } = response;
  if (status >= 200 && status < 300) {
    response.cancel();
    return { status };
  }
  const isRedirect = status >= 300 && status < 400;
  const said = isRedirect
    ? `it redirects to ${headers.location ?? 'nowhere'}, and redirects are not followed`
    : await readBeginning(response);
  if (isRedirect) response.cancel();
  const retryAfter = status === 429 || status === 503 ? headers['retry-after'] : undefined;
  return { status, ...(retryAfter === undefined ? {} : { retryAfter }), error: cleanText(`${status}${said ? `: ${said}` : ''}`) };
}

/** What came of the answer, even if it broke off. */
async function readBeginning({ body }: GuardResponse): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes >= mostAnswerBytes) break;
    }
  } catch (error) {
    if (!(error instanceof GuardFailure)) throw error;
  }
  return Buffer.concat(chunks).subarray(0, mostAnswerBytes).toString();
}

/** Control characters would only disturb whoever reads it, and PostgreSQL keeps no NUL; the ends of lines stay. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is removed
const unreadable = /[\u0000-\u0008\u000b-\u001f\u007f]/g;
const cleanText = (text: string) => text.replaceAll(unreadable, ' ').trim().slice(0, mostAnswerBytes).toWellFormed();
