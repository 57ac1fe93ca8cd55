import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { type Allow, nothing, parseAllow } from './allow.ts';
import { makeConnectionPool } from './connection-pool.ts';
import { type Connector, tcpConnector } from './connector.ts';
import { type Connection, type Dialer, type DialOptions, dial, upgrade } from './dial.ts';
import { type FetchOptions, guardedFetch } from './fetch.ts';
import { checkedPort, parseHost, parseTarget } from './host.ts';
import { checkBeforeLookup } from './resolve-allowed.ts';
import { dnsResolver, type Resolver, systemResolver } from './resolver.ts';
import type { GuardResponse } from './response.ts';
import { sharedContext, type TlsOptions } from './secure.ts';

/**
 * The one way out for connections that users cause. `use` says what for (uptime, webhook, oidc, upstream, mx, node, …): it selects
 * the allow list and stands in the refusal.
 */
export interface Guard {
  /** One HTTP(S) request, each redirect judged anew. */
  fetch(use: string, url: string | URL, options?: FetchOptions): Promise<GuardResponse>;
  connectTcp(use: string, host: string, port: number, options?: DialOptions): Promise<Connection<Socket>>;
  connectTls(
    use: string,
    host: string,
    port: number,
    options?: DialOptions & { readonly tls?: TlsOptions },
  ): Promise<Connection<TLSSocket>>;
  /** TLS on a connection of `connectTcp`, where the protocol begins in the clear. `host` is the name that the certificate must be for. */
  startTls(connection: Connection, host: string, options?: DialOptions & { readonly tls?: TlsOptions }): Promise<Connection<TLSSocket>>;
  /** For the moment somebody writes a URL down: refuses what no name server could make right. Looks nothing up. */
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
    allow: options.allow ?? nothing,
    resolver: options.resolver ?? dnsResolver(options.dnsServers),
    connector: options.connector ?? tcpConnector,
    allowPort: options.allowPort ?? (() => true),
    sharedContext: sharedContext(),
    kept: makeConnectionPool(),
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
 * For addresses that the operator wrote into the configuration, and no user can change: their relay may well be at a private address, and
 * its name in /etc/hosts. The cloud's keys and what nobody serves at stay closed.
 */
export const makeOperatorGuard = (dnsServers: readonly string[]): Guard =>
  makeGuard({
    allow: parseAllow('0.0.0.0/0,::/0'),
    resolver: dnsServers.length === 0 ? systemResolver : dnsResolver(dnsServers),
  });

export { joinChunks } from '../http/joined-chunks.ts';
export type { AddressClass } from './address.ts';
export { type Allow, nothing, parseAllow } from './allow.ts';
export type { Connector, Endpoint } from './connector.ts';
export { unlessAborted } from './deadline.ts';
export { decide, type Verdict } from './decide.ts';
export type { Connection, DialOptions, Phases } from './dial.ts';
export { type FailureKind, GuardFailure, GuardRefusal, type Phase, type RefusalKind } from './errors.ts';
export { checkedHeaders } from './exchange.ts';
export type { FetchOptions, Timeouts } from './fetch.ts';
export { isForeignMailServer, mailPort } from './mail-port.ts';
export { type Answer, checkedServer, dnsResolver, type Resolver } from './resolver.ts';
export type { GuardResponse, Hop } from './response.ts';
export type { TlsOptions } from './secure.ts';
