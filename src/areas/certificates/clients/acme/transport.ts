import { type Guard, GuardFailure, GuardRefusal } from '../../../../kernel/guard/index.ts';
import { AuthorityAway } from './errors.ts';

export interface Answer {
  status: number;
  text: string;
  location: string | undefined;
  nonce: string | undefined;
  /** 0 without a Retry-After. */
  retryAfterSeconds: number;
}

export interface AcmeRequest {
  method: 'GET' | 'HEAD' | 'POST';
  body?: string;
  accept?: string;
  maxBytes?: number;
}

export type AcmeTransport = (url: string, request: AcmeRequest) => Promise<Answer>;

const timeouts = { connectMs: 10_000, headersMs: 30_000, idleMs: 10_000, totalMs: 45_000 };
const maxJsonBytes = 65_536;

/** The authority is the operator's choice, so the operator's guard connects; no redirect is followed. Every failure is an `AuthorityAway`. */
export const makeTransport =
  (guard: Guard, signal: AbortSignal): AcmeTransport =>
  async (url, { method, body, accept = 'application/json', maxBytes = maxJsonBytes }) => {
    try {
      const response = await guard.fetch('acme', url, {
        method,
        headers: { accept, ...(body === undefined ? {} : { 'content-type': 'application/jose+json' }) },
        ...(body === undefined ? {} : { body }),
        signal,
        timeouts,
        maxBodyBytes: maxBytes,
      });
      if (method === 'HEAD') response.cancel();
      const text = method === 'HEAD' ? '' : await response.text();
      return { status: response.status, text, ...headersOf(response.headers) };
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof GuardFailure || error instanceof GuardRefusal)
        throw new AuthorityAway(`the authority cannot be reached: ${error.message}`, { cause: error });
      throw error;
    }
  };

function headersOf(headers: Record<string, string | string[] | undefined>): Omit<Answer, 'status' | 'text'> {
  const one = (name: string) => {
    const value = headers[name];
    return typeof value === 'string' ? value : undefined;
  };
  const nonce = one('replay-nonce');
  return {
    location: one('location'),
    nonce: nonce !== undefined && /^[A-Za-z0-9_-]{1,300}$/.test(nonce) ? nonce : undefined,
    retryAfterSeconds: readRetryAfter(one('retry-after'), one('date')),
  };
}

/** RFC 9110, 10.2.3: seconds, or a date, which is compared with the authority's own. */
export function readRetryAfter(text: string | undefined, date: string | undefined): number {
  if (text === undefined) return 0;
  if (/^\d{1,9}$/.test(text.trim())) return Number(text);
  const seconds = (Date.parse(text) - Date.parse(date ?? '')) / 1_000;
  return Number.isFinite(seconds) && seconds > 0 ? Math.ceil(seconds) : 0;
}
