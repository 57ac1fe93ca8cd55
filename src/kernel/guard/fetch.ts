import type { DetailedPeerCertificate, TLSSocket } from 'node:tls';
import { acceptEncoding } from './body.ts';
import { deadline } from './deadline.ts';
import { type Dialer, dial } from './dial.ts';
import { type FailureKind, GuardFailure, GuardRefusal, type Phase } from './errors.ts';
import { checkedHeaders, checkedMethod, exchange } from './exchange.ts';
import { parseTarget } from './host.ts';
import { crossOriginOnly, isRedirect, type Message, redirected } from './redirect.ts';
import { checkBeforeLookup } from './resolve-allowed.ts';
import { type GuardResponse, type Hop, respond } from './response.ts';
import type { TlsOptions } from './secure.ts';
import type { Connection } from './types.ts';

export interface Timeouts {
  /** DNS, TCP and TLS of one hop: 10 s. */
  readonly connectMs?: number;
  /** From the connection to the response head, of one hop: 30 s. */
  readonly headersMs?: number;
  /** Silence in the body: 30 s. */
  readonly idleMs?: number;
  /** Everything, including redirects and the body: 60 s. Infinity for bodies of any length. */
  readonly totalMs?: number;
}

export interface FetchOptions {
  readonly method?: string;
  /** A redirect to another origin gets only the headers that say nothing about the caller. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Override the headers above, and go to the first origin only: a header that a user set may be a secret under any name. */
  readonly originHeaders?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  readonly signal?: AbortSignal;
  readonly timeouts?: Timeouts;
  /** 0, the default, returns redirects to the caller; beyond any other number the request fails. */
  readonly maxRedirects?: number;
  /** Follow a redirect from https to http. */
  readonly allowDowngrade?: boolean;
  /** 16 KiB. */
  readonly maxHeaderBytes?: number;
  /** 1 MiB. */
  readonly maxBodyBytes?: number;
  /** False: request and return the bytes unchanged. Otherwise the limit of decompression: 200 times the compressed size. */
  readonly decompress?: false | { readonly maxRatio: number };
  readonly tls?: TlsOptions;
  /**
   * Keeps the connection open for the next request with the same key to the same origin, and reuses such a connection. For callers that
   * contact the same server again and again, with requests that may arrive twice. A server that closes at that moment gets the request
   * again on a new connection. Not together with `tls`.
   */
  readonly keptFor?: string;
  /** Called for each handshake, for callers that inspect certificates. */
  readonly onSecure?: (socket: TLSSocket, hop: number, certificate: DetailedPeerCertificate | null) => void;
  /** Called as it happens, so that a failed request still shows how far it came. */
  readonly onPhase?: (phase: Phase, ms: number, hop: number) => void;
}

/** The phase in which the total time ran out, for callers that set only the total. */
const totalTimeout = (phase: Phase, totalMs: number) => {
  const kind = phase === 'resolve' ? 'dns_timeout' : phase === 'connect' ? 'connect_timeout' : 'timeout';
  return new GuardFailure(kind, phase, `there was no whole answer within ${totalMs} ms`);
};

export async function guardedFetch(dialer: Dialer, use: string, input: string | URL, options: FetchOptions = {}): Promise<GuardResponse> {
  if (options.keptFor !== undefined && options.tls) throw new GuardRefusal('request', 'a connection is not kept under terms of its own');
  let message = firstMessage(input, options);
  const maxRedirects = options.maxRedirects ?? 0;
  const totalMs = options.timeouts?.totalMs ?? 60_000;
  const progress = { phase: 'resolve' as Phase };
  const total = deadline(totalMs, () => totalTimeout(progress.phase, totalMs), options.signal);
  const hops: Hop[] = [];
  try {
    for (;;) {
      const { response, hop } = await oneHop(dialer, use, message, options, hops.length, progress, total.signal);
      hops.push(hop);
      const location = response.headers.location;
      if (maxRedirects === 0 || !isRedirect(hop.status) || location === undefined) {
        return respond(response, message, hops, bodyLimits(options), total, options.onPhase);
      }
      response.destroy();
      if (hops.length > maxRedirects) {
        throw new GuardFailure('too_many_redirects', 'firstByte', `${message.target.host.name} redirects more than ${maxRedirects} times`);
      }
      message = redirected(message, hop.status, location, options.allowDowngrade ?? false);
    }
  } catch (error) {
    total.stop();
    throw error;
  }
}

const bodyLimits = ({ maxBodyBytes, timeouts, decompress, keptFor }: FetchOptions) => ({
  maxBodyBytes: maxBodyBytes ?? 2 ** 20,
  idleMs: timeouts?.idleMs ?? 30_000,
  maxRatio: decompress === false ? 0 : (decompress?.maxRatio ?? 200),
  isKept: keptFor !== undefined,
});

function firstMessage(input: string | URL, options: FetchOptions): Message {
  const headers = {
    accept: '*/*',
    'user-agent': 'Quarterdeck',
    'accept-encoding': options.decompress === false ? 'identity' : acceptEncoding,
    ...checkedHeaders(options.headers ?? {}),
  };
  return {
    target: parseTarget(input),
    method: checkedMethod(options.method ?? 'GET'),
    headers: { ...headers, ...checkedHeaders(options.originHeaders ?? {}) },
    crossOriginHeaders: crossOriginOnly(headers),
    body: typeof options.body === 'string' ? Buffer.from(options.body) : (options.body ?? null),
  };
}

/** Failures before a response on a reused connection: the connection itself may be the cause. */
const connectionFailures: ReadonlySet<FailureKind> = new Set(['connection_reset', 'protocol', 'tls_handshake']);

async function oneHop(
  dialer: Dialer,
  use: string,
  message: Message,
  options: FetchOptions,
  hopIndex: number,
  progress: { phase: Phase },
  signal: AbortSignal,
) {
  const { host, port, secure, url } = message.target;
  checkBeforeLookup(dialer, use, host, port);
  progress.phase = 'resolve';
  const onPhase = (phase: Phase, ms: number) => {
    progress.phase =
      phase === 'resolve' ? 'connect' : phase === 'connect' && secure ? 'tls' : phase === 'firstByte' ? 'transfer' : 'firstByte';
    options.onPhase?.(phase, ms, hopIndex);
  };
  const dialing = { signal, connectMs: options.timeouts?.connectMs, onPhase };
  const tls = secure ? { alpn: ['http/1.1'], ...options.tls } : undefined;
  const limits = { headersMs: options.timeouts?.headersMs ?? 30_000, maxHeaderBytes: options.maxHeaderBytes ?? 16_384 };
  const key = options.keptFor === undefined ? undefined : JSON.stringify([use, url.origin, options.keptFor]);
  const send = async (connection: Connection) => {
    const { socket, address, family } = connection;
    const started = performance.now();
    const keep = key === undefined ? undefined : () => dialer.pool.keep(key, connection);
    const response = await exchange(socket, message, limits, signal, keep);
    const phases = { ...connection.phases, firstByte: performance.now() - started };
    onPhase('firstByte', phases.firstByte);
    return { response, hop: { url: url.href, status: response.statusCode ?? 0, address, family, phases } };
  };
  const reused = key === undefined ? undefined : dialer.pool.take(key);
  if (reused) {
    progress.phase = 'firstByte';
    try {
      const result = await send({ ...reused, phases: {} });
      // RFC 9110 15.5.9: a server sends 408 on a connection that was idle for a while, and has not read the request yet.
      if (result.hop.status !== 408) return result;
      result.response.destroy();
    } catch (error) {
      reused.socket.destroy();
      if (!(error instanceof GuardFailure && connectionFailures.has(error.kind))) throw error;
    }
    progress.phase = 'resolve';
  }
  const connection = await dial(dialer, use, host, port, dialing, tls);
  try {
    if (secure) options.onSecure?.(connection.socket as TLSSocket, hopIndex, connection.certificate);
    return await send(connection);
  } catch (error) {
    connection.socket.destroy();
    throw error;
  }
}
