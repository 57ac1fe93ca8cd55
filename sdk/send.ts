import { UnreachableError } from './errors.ts';
import type { ClientOptions } from './types.ts';

export interface Prepared {
  url: string;
  init: RequestInit;
  /** Carried out twice, it does what it does once. */
  mayRepeat: boolean;
  streams: boolean;
}

export interface Answer {
  response: Response;
  /** Read within the time limit; a stream is left to the caller. */
  text?: string;
}

const firstWaitSeconds = 0.2;
/** The longest that a server's Retry-After is waited for; when it asks for more, the caller decides. */
const maxRetryAfterSeconds = 5;

/** Tries again what may be repeated: after a broken connection, and when the server says that it is unable for a moment. */
export async function send(client: ClientOptions, request: Prepared, signal?: AbortSignal): Promise<Answer> {
  for (let tries = client.retries ?? 2, wait = firstWaitSeconds; ; tries--, wait *= 2) {
    const answer = await once(client, request, signal).catch((error: unknown) => {
      signal?.throwIfAborted();
      if (tries > 0 && !(error instanceof UnreachableError) && (request.mayRepeat || neverArrived(error))) return undefined;
      throw unreachable(client.url, error);
    });
    const seconds = Number(answer?.response.headers.get('retry-after') ?? wait);
    if (answer && !(tries > 0 && isMomentary(answer.response.status, request) && seconds <= maxRetryAfterSeconds)) return answer;
    await sleep(seconds * 1000, signal);
  }
}

/** 429 comes before anything is done; with 503 that is not certain. */
const isMomentary = (status: number, { mayRepeat }: Prepared) => status === 429 || (status === 503 && mayRepeat);

async function once(
  { fetch: ask = fetch, timeoutMs = 60_000, url }: ClientOptions,
  request: Prepared,
  signal?: AbortSignal,
): Promise<Answer> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(new UnreachableError(`${url} did not answer within ${timeoutMs / 1000} s`)), timeoutMs);
  try {
    const response = await ask(request.url, { ...request.init, signal: signal ? AbortSignal.any([signal, late.signal]) : late.signal });
    return request.streams && response.ok ? { response } : { response, text: await response.text() };
  } catch (error) {
    throw late.signal.aborted ? late.signal.reason : error;
  } finally {
    clearTimeout(timer);
  }
}

/** fetch says only "fetch failed"; what happened lies below it. */
function causeOf(error: unknown): { code?: string; message?: string } {
  const { cause } = error as { cause?: { errors?: object[] } };
  return cause?.errors?.[0] ?? cause ?? (error as Error);
}

const neverArrived = (error: unknown) =>
  ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'].includes(causeOf(error).code ?? '');

function unreachable(url: string, error: unknown): UnreachableError {
  if (error instanceof UnreachableError) return error;
  const { code, message } = causeOf(error);
  return new UnreachableError(`cannot reach ${url} (${code ?? message}); is the server running there?`, { cause: error });
}

const sleep = (ms: number, signal?: AbortSignal) =>
  new Promise<void>((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal!.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    signal?.addEventListener('abort', stop, { once: true });
  });
