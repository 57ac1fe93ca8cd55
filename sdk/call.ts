import { ApiError, UnreachableError } from './errors.ts';
import { type Answer, type Prepared, send } from './send.ts';
import type { CallOptions, ClientOptions, Operation } from './types.ts';

type Input = Record<string, unknown>;
export type Bound = ((...args: unknown[]) => Promise<unknown>) & { pages?(...args: unknown[]): AsyncGenerator<unknown, void> };

/** An operation as a function: path parameters, then the input if it takes any, then options. */
export function bind(client: ClientOptions, operation: Operation): Bound {
  const count = operation.path.split('{').length - 1;
  const inputs = operation.query || operation.body ? 1 : 0;
  const split = (args: unknown[]) =>
    [args.slice(0, count), inputs ? args[count] : undefined, args[count + inputs]] as [string[], Input?, CallOptions?];
  const call = async (params: string[], input: Input = {}, options: CallOptions = {}) =>
    answerOf(client, operation, await send(client, prepare(client, operation, params, input, options), options.signal));

  async function* pages(...args: unknown[]) {
    const [params, input, options] = split(args);
    let cursor = input?.['cursor'];
    const seen = new Set<unknown>();
    do {
      // A server that leads in a circle would be asked for ever.
      if (seen.has(cursor)) throw new UnreachableError(`${client.url} gives the same cursor twice, so this list would never end.`);
      seen.add(cursor);
      const page = (await call(params, { ...input, cursor }, options)) as { cursor?: string };
      yield page;
      cursor = page.cursor;
    } while (cursor !== undefined);
  }
  const bound = (...args: unknown[]) => call(...split(args));
  return operation.paged ? Object.assign(bound, { pages }) : bound;
}

function prepare(client: ClientOptions, operation: Operation, params: string[], input: Input, options: CallOptions): Prepared {
  const { method, query = [], body, idempotent = false, streams } = operation;
  const fields = Object.fromEntries(Object.entries(input).filter(([name, value]) => !query.includes(name) && value !== undefined));
  const content = body === 'list' ? fields['body'] : body === 'object' || Object.keys(fields).length ? fields : undefined;
  const search = new URLSearchParams(query.flatMap((name) => (input[name] === undefined ? [] : [[name, String(input[name])]])));
  return {
    url: `${withoutSlashes(client.url)}/api/v1${pathOf(operation.path, params)}${search.size ? `?${search}` : ''}`,
    init: {
      method,
      headers: {
        accept: streams ? `${streams}, application/json` : 'application/json',
        ...(client.token ? { authorization: bearer(client.token) } : {}),
        ...(client.organization ? { 'x-organization': client.organization } : {}),
        ...(isInBackground(client, options) ? { 'x-background': '1' } : {}),
        ...(client.userAgent ? { 'user-agent': client.userAgent } : {}),
        ...(idempotent ? { 'idempotency-key': options.idempotencyKey ?? crypto.randomUUID() } : {}),
        ...(content === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(content === undefined ? {} : { body: JSON.stringify(content) }),
      // Nothing of ours redirects, and a redirect followed would send what is meant for this server to another.
      redirect: 'error',
      // The cookie of a session goes to the page's own server alone, and never beside a token.
      credentials: client.token ? 'omit' : 'same-origin',
    },
    // A DELETE repeated after it was carried out would be answered 404.
    mayRepeat: idempotent || ['GET', 'PUT', 'PATCH'].includes(method),
    streams: streams !== undefined,
  };
}

const isInBackground = ({ background }: ClientOptions, options: CallOptions): boolean =>
  options.background ?? (typeof background === 'function' ? background() : background === true);

/** Without the slashes at its end. */
function withoutSlashes(url: string): string {
  let end = url.length;
  while (url[end - 1] === '/') end--;
  return url.slice(0, end);
}

/** fetch would refuse it with a sentence that repeats the token. */
function bearer(token: string): string {
  if (!/^[\x21-\x7e]+$/.test(token.trim())) throw new TypeError('the token has a character that no token has; copy it again');
  return `Bearer ${token.trim()}`;
}

function pathOf(template: string, params: string[]): string {
  let at = 0;
  return template.replace(/\{([^{}]+)\}/g, (_, name: string) => {
    const value = String(params[at++] ?? '');
    // The URL standard resolves dots even when they are escaped, and the path would name something else.
    if (['', '.', '..'].includes(value)) throw new TypeError(`${name} cannot be ${JSON.stringify(value)}`);
    return encodeURIComponent(value);
  });
}

function answerOf(client: ClientOptions, { streams }: Operation, { response, text }: Answer): unknown {
  const isJson = /[/+]json\b/.test(response.headers.get('content-type') ?? '');
  if (!response.ok) throw refusal(response, isJson ? text : undefined);
  if (streams) return response;
  if (!text) return undefined;
  if (!isJson) throw new UnreachableError(`what answers at ${client.url} is no Quarterdeck server; check the URL`);
  return JSON.parse(text);
}

function refusal({ status, headers }: Response, text: string | undefined): ApiError {
  const retryAfter = headers.get('retry-after');
  return new ApiError(
    status,
    headers.get('x-error-code') ?? 'unknown',
    sentenceIn(text) ?? `the server answered ${status} without saying why`,
    {
      requestId: headers.get('x-request-id') ?? undefined,
      retryAfter: retryAfter ? Number(retryAfter) : undefined,
    },
  );
}

function sentenceIn(text: string | undefined): string | undefined {
  try {
    const { error } = JSON.parse(text ?? '') as { error?: unknown };
    return typeof error === 'string' ? error : undefined;
  } catch {
    return undefined;
  }
}
