/**
 * The guard: every outbound connection to an address that a user chose goes through it. `use` is the purpose (uptime, webhook, oidc,
 * upstream, mx, node, …): it selects the allow list and is named in refusals.
 * Flow of one request: host.ts parses the host into one canonical form → resolve-allowed.ts resolves it once and decide.ts checks every
 * address (one forbidden answer refuses the name) → dial.ts connects to a checked address, compares the socket's remote address with it,
 * and secure.ts adds TLS → exchange.ts sends the request → redirect.ts builds the next request, which starts again at the first step →
 * response.ts and body.ts read the body within its limits.
 * - address.ts classifies addresses; allow.ts parses QUARTERDECK_ALLOW_PRIVATE_CIDRS.
 * - connection-pool.ts keeps idle connections for callers with `keptFor`: 4 s idle, 60 s in total, 16 of a key, 256 in all.
 * - errors.ts: `GuardRefusal` (400, final) for a forbidden target, `GuardFailure` (502, may pass later) for a target that failed. Neither
 *   names a resolved address.
 * All state is in memory: idle connections end with the process.
 */
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { type Allow, allowNothing, parseAllow } from './allow.ts';
import { makeConnectionPool } from './connection-pool.ts';
import { type Connector, tcpConnector } from './connector.ts';
import { type Dialer, type DialOptions, dial, upgrade } from './dial.ts';
import { type FetchOptions, guardedFetch } from './fetch.ts';
import { checkedPort, parseHost, parseTarget } from './host.ts';
import { checkBeforeLookup } from './resolve-allowed.ts';
import { dnsResolver, type Resolver, systemResolver } from './resolver.ts';
import type { GuardResponse } from './response.ts';
import { sharedContext, type TlsOptions } from './secure.ts';
import type { Connection } from './types.ts';

export interface Guard {
  /** One HTTP(S) request; each redirect is checked again. */
  fetch(use: string, url: string | URL, options?: FetchOptions): Promise<GuardResponse>;
  connectTcp(use: string, host: string, port: number, options?: DialOptions): Promise<Connection<Socket>>;
  connectTls(
    use: string,
    host: string,
    port: number,
    options?: DialOptions & { readonly tls?: TlsOptions },
  ): Promise<Connection<TLSSocket>>;
  /** Starts TLS on a connection of `connectTcp`, where the protocol begins in the clear. The certificate must be valid for `host`. */
  startTls(connection: Connection, host: string, options?: DialOptions & { readonly tls?: TlsOptions }): Promise<Connection<TLSSocket>>;
  /** For the moment a user saves a URL: refuses targets that no DNS change could make valid. Does no lookup. */
  checkUrl(use: string, url: string | URL): void;
  checkHost(use: string, host: string, port: number): void;
}

export interface GuardOptions {
  readonly allow?: Allow;
  /** Instead of the DNS. */
  readonly resolver?: Resolver;
  /** Addresses with ports; none means the system's. */
  readonly dnsServers?: readonly string[];
  readonly connector?: Connector;
  readonly allowPort?: (use: string, port: number, host: string) => boolean;
}

export function makeGuard(options: GuardOptions = {}): Guard {
  const dialer: Dialer = {
    allow: options.allow ?? allowNothing,
    resolver: options.resolver ?? dnsResolver(options.dnsServers),
    connector: options.connector ?? tcpConnector,
    allowPort: options.allowPort ?? (() => true),
    sharedContext: sharedContext(),
    pool: makeConnectionPool(),
  };
  const checked = (use: string, raw: string, port: number) => {
    const host = parseHost(raw);
    checkBeforeLookup(dialer, use, host, checkedPort(port));
    return host;
  };
  return {
    fetch: (use, url, fetching) => guardedFetch(dialer, use, url, fetching),
    connectTcp: async (use, host, port, dialing = {}) => dial(dialer, use, checked(use, host, port), port, dialing, undefined),
    connectTls: async (use, host, port, dialing = {}) =>
      (await dial(dialer, use, checked(use, host, port), port, dialing, dialing.tls ?? {})) as Connection<TLSSocket>,
    startTls: async (open, host, dialing = {}) => upgrade(dialer, open, parseHost(host), dialing, dialing.tls ?? {}),
    checkUrl: (use, url) => {
      const target = parseTarget(url);
      checkBeforeLookup(dialer, use, target.host, target.port);
    },
    checkHost: (use, host, port) => void checked(use, host, port),
  };
}

/**
 * For addresses in the operator's configuration, which no user can change. The operator's relay may be at a private address, with its name
 * in /etc/hosts. Metadata services and addresses without services stay closed.
 */
export const makeOperatorGuard = (dnsServers: readonly string[]): Guard =>
  makeGuard({
    allow: parseAllow('0.0.0.0/0,::/0'),
    resolver: dnsServers.length === 0 ? systemResolver : dnsResolver(dnsServers),
  });

export { joinChunks } from '../http/joined-chunks.ts';
export type { AddressClass } from './address.ts';
export { type Allow, allowNothing, parseAllow } from './allow.ts';
export type { Connector, Endpoint } from './connector.ts';
export { unlessAborted } from './deadline.ts';
export { decide, type Verdict } from './decide.ts';
export type { DialOptions } from './dial.ts';
export { type FailureKind, GuardFailure, GuardRefusal, type Phase, type RefusalKind } from './errors.ts';
export { checkedHeaders } from './exchange.ts';
export type { FetchOptions, Timeouts } from './fetch.ts';
export { isThirdPartyMailServer, mailPort } from './mail-port.ts';
export { type Answer, checkedServer, dnsResolver, type Resolver } from './resolver.ts';
export type { GuardResponse, Hop } from './response.ts';
export type { TlsOptions } from './secure.ts';
export type { Connection, Phases } from './types.ts';
