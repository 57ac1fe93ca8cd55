import { createHmac } from 'node:crypto';
import { type Guard, GuardFailure, GuardRefusal, type GuardResponse } from '../../../../kernel/guard/index.ts';

/** One delivery attempt to a webhook endpoint. */
export interface WebhookAttempt {
  url: string;
  /** Connections are pooled per endpoint; endpoints never share one, even at the same address. */
  endpointId: string;
  /** `whsec_…` */
  secret: string;
  eventId: string;
  /** Time of the attempt, in epoch seconds. */
  at: number;
  payload: string;
}

export interface WebhookReply {
  /** Undefined: no answer. */
  status?: number;
  retryAfter?: string;
  /** Undefined: delivered. */
  error?: string;
}

const attemptTimeoutMs = 15_000;
/** The part of a failed answer that is kept. */
const maxAnswerBytes = 4_096;

/** Standard Webhooks 1.0: HMAC over id, time and body. */
export const signEvent = ({ secret, eventId, at, payload }: Omit<WebhookAttempt, 'url' | 'endpointId'>): string =>
  `v1,${createHmac('sha256', Buffer.from(secret.replace(/^whsec_/, ''), 'base64'))
    .update(`${eventId}.${at}.${payload}`)
    .digest('base64')}`;

/** Returns the endpoint's answer or the guard's refusal. Rejects only on abort or on an internal error. */
export async function postEvent({ fetch }: Pick<Guard, 'fetch'>, attempt: WebhookAttempt, signal: AbortSignal): Promise<WebhookReply> {
  try {
    const response = await fetch('webhook', attempt.url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'webhook-id': attempt.eventId,
        'webhook-timestamp': String(attempt.at),
        'webhook-signature': signEvent(attempt),
      },
      body: attempt.payload,
      signal,
      timeouts: { totalMs: attemptTimeoutMs, connectMs: attemptTimeoutMs, headersMs: attemptTimeoutMs, idleMs: attemptTimeoutMs },
      decompress: false,
      keptFor: attempt.endpointId,
    });
    return await readReply(response);
  } catch (error) {
    if (signal.aborted || !(error instanceof GuardRefusal || error instanceof GuardFailure)) throw error;
    return { error: error.message };
  }
}

async function readReply(response: GuardResponse): Promise<WebhookReply> {
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

/** The beginning of the answer, even if the connection broke. */
async function readBeginning({ body }: GuardResponse): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes >= maxAnswerBytes) break;
    }
  } catch (error) {
    if (!(error instanceof GuardFailure)) throw error;
  }
  return Buffer.concat(chunks).subarray(0, maxAnswerBytes).toString();
}

/** Removes control characters, since the log shows this text and PostgreSQL stores no NUL. Line ends stay. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is removed
const unreadable = /[\u0000-\u0008\u000b-\u001f\u007f]/g;
const cleanText = (text: string) => text.replaceAll(unreadable, ' ').trim().slice(0, maxAnswerBytes).toWellFormed();
