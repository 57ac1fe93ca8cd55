import { ApiError, UnreachableError } from './errors.ts';

export interface ClientOptions {
  /** Where the server is, without /api/v1. */
  url: string;
  token?: string | undefined;
  /** How often a request that may be repeated is tried again; 2 unless told. */
  retries?: number;
  /** How long one try may take; 60 s unless told. */
  timeoutMs?: number;
  userAgent?: string;
  fetch?: typeof fetch;
}

export interface CallOptions {
  signal?: AbortSignal;
  /** For a POST that must happen once, even when a later process repeats it. Each call has a key of its own unless told. */
  idempotencyKey?: string;
}

/** A list that comes in pages: called, it answers with one; `pages` walks them all. */
export type Paged<Call extends (...args: never[]) => Promise<unknown>> = Call & {
  pages(...args: Parameters<Call>): AsyncGenerator<Awaited<ReturnType<Call>>, void>;
};

/** What the client must know of an operation. */
export interface Operation {
  method: string;
  path: string;
  query?: string[];
  body?: 'object' | 'optional' | 'list';
  /** The server keeps its Idempotency-Key, so it can be repeated. */
  idempotent?: boolean;
  paged?: boolean;
  streams?: string;
}

type Input = Record<string, unknown>;
interface Request {
  url: string;
  init: RequestInit;
  mayRepeat: boolean;
  streams: boolean;
}

/** The longest that a server's Retry-After is waited for; longer, and the caller decides. */
const patienceSeconds = 5;

/** One operation as a function: path parameters, then the input if it takes any, then options. */
export function bind(client: ClientOptions, operation: Operation) {
  const count = operation.path.split('{').length - 1;
  const takesInput = Boolean(operation.query || operation.body);
  const call = async (params: string[], input: Input = {}, options: CallOptions = {}) => answerOf(await send(client, requestOf(client, operation, params, input, options), options), operation);
  const split = (args: unknown[]) => [args.slice(0, count), takesInput ? args[count] : undefined, args[count + (takesInput ? 1 : 0)]] as [string[], Input?, CallOptions?];

  async function* pages(...args: unknown[]) {
    const [params, input, options] = split(args);
    let cursor = input?.['cursor'];
    do {
      const page = (await call(params, { ...input, cursor }, options)) as { cursor?: string };
      yield page;
      cursor = page.cursor;
    } while (cursor !== undefined);
  }
  const bound = (...args: unknown[]) => call(...split(args));
  return operation.paged ? Object.assign(bound, { pages }) : bound;
}

function requestOf(client: ClientOptions, operation: Operation, params: string[], input: Input, options: CallOptions): Request {
  const { method, query = [], body, idempotent = false, streams } = operation;
  const fields = Object.fromEntries(Object.entries(input).filter(([name, value]) => !query.includes(name) && value !== undefined));
  const content = body === 'list' ? fields['body'] : body === 'object' || Object.keys(fields).length ? fields : undefined;
  const search = new URLSearchParams(query.flatMap((name) => (input[name] === undefined ? [] : [[name, String(input[name])]])));
  return {
    url: `${client.url.replace(/\/+$/, '')}/api/v1${pathOf(operation.path, params)}${search.size ? `?${search}` : ''}`,
    init: {
      method,
      headers: {
        accept: streams ? `${streams}, application/json` : 'application/json',
        ...(client.token ? { authorization: `Bearer ${client.token}` } : {}),
        ...(client.userAgent ? { 'user-agent': client.userAgent } : {}),
        ...(idempotent ? { 'idempotency-key': options.idempotencyKey ?? crypto.randomUUID() } : {}),
        ...(content === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(content === undefined ? {} : { body: JSON.stringify(content) }),
      // A redirect would carry the token to wherever it points.
      redirect: 'error',
    },
    // Repeated after it was carried out, a DELETE would be answered 404.
    mayRepeat: idempotent || ['GET', 'PUT', 'PATCH'].includes(method),
    streams: streams !== undefined,
  };
}

function pathOf(template: string, params: string[]): string {
  let at = 0;
  return template.replace(/\{([^}]+)\}/g, (_, name: string) => {
    const value = String(params[at++] ?? '');
    // The URL standard resolves dots even when escaped, which would name another resource.
    if (['', '.', '..'].includes(value)) throw new TypeError(`${name} cannot be ${JSON.stringify(value)}`);
    return encodeURIComponent(value);
  });
}

interface Answer {
  response: Response;
  /** Read within the time limit; a stream is left to the caller. */
  text?: string;
}

/** Tries again what may be repeated: after a broken connection, and when the server says that it is briefly unable. */
async function send(client: ClientOptions, request: Request, { signal }: CallOptions): Promise<Answer> {
  for (let tries = client.retries ?? 2, wait = 0.2; ; tries--, wait *= 2) {
    const outcome = await once(client, request, signal).catch((error: unknown) => {
      signal?.throwIfAborted();
      if (tries <= 0 || error instanceof UnreachableError || !(request.mayRepeat || neverArrived(error))) throw unreachable(client.url, error);
      return undefined;
    });
    const status = outcome?.response.status;
    const isBriefly = status === 429 || (status === 503 && request.mayRepeat);
    const seconds = Number(outcome?.response.headers.get('retry-after') ?? wait);
    if (outcome && (tries <= 0 || !isBriefly || !(seconds <= patienceSeconds))) return outcome;
    await sleep(seconds * 1000, signal);
  }
}

async function once({ fetch: ask = fetch, timeoutMs = 60_000, url }: ClientOptions, { url: target, init, streams }: Request, signal?: AbortSignal): Promise<Answer> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(new UnreachableError(`${url} did not answer within ${timeoutMs / 1000} s`)), timeoutMs);
  try {
    const response = await ask(target, { ...init, signal: signal ? AbortSignal.any([signal, late.signal]) : late.signal });
    return streams && response.ok ? { response } : { response, text: await response.text() };
  } catch (error) {
    throw late.signal.aborted ? late.signal.reason : error;
  } finally {
    clearTimeout(timer);
  }
}

function answerOf({ response, text }: Answer, { streams }: Operation): unknown {
  const isJson = /[/+]json\b/.test(response.headers.get('content-type') ?? '');
  if (!response.ok) throw refusal(response, isJson ? text : undefined);
  if (streams) return response;
  if (!text) return undefined;
  if (!isJson) throw new UnreachableError(`what answers at ${new URL(response.url).origin} is no Quarterdeck server; check the URL`);
  return JSON.parse(text);
}

function refusal({ status, headers }: Response, text: string | undefined): ApiError {
  const retryAfter = headers.get('retry-after');
  return new ApiError(status, headers.get('x-error-code') ?? 'unknown', sentenceIn(text) ?? `the server answered ${status} without saying why`, {
    requestId: headers.get('x-request-id') ?? undefined,
    retryAfter: retryAfter ? Number(retryAfter) : undefined,
  });
}

function sentenceIn(text: string | undefined): string | undefined {
  try {
    const { error } = JSON.parse(text ?? '') as { error?: unknown };
    return typeof error === 'string' ? error : undefined;
  } catch {
    return undefined;
  }
}

/** fetch says only "fetch failed"; what happened is below it. */
const causeOf = (error: unknown): { code?: string; message?: string } => {
  const { cause } = error as { cause?: { errors?: unknown[] } };
  return (cause?.errors?.[0] ?? cause ?? error) as { code?: string };
};

const neverArrived = (error: unknown) => ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'].includes(causeOf(error).code ?? '');

function unreachable(url: string, error: unknown): UnreachableError {
  if (error instanceof UnreachableError) return error;
  const { code, message } = causeOf(error);
  return new UnreachableError(`cannot reach ${url} (${code ?? message ?? 'no answer'}); is the server running there?`, { cause: error });
}

const sleep = (ms: number, signal?: AbortSignal) =>
  new Promise<void>((resolve, reject) => {
    const stop = () => reject(signal!.reason);
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    signal?.addEventListener('abort', () => (clearTimeout(timer), stop()), { once: true });
  });
