import { Resolver as DnsResolver, lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { exitCodes, Stop } from '../errors.ts';
import { dnsFailure, GuardFailure } from './errors.ts';

export interface Answer {
  readonly address: string;
}

/** Every address of a name. Answers are not trusted: the guard checks each. Throws GuardFailure when there is none. */
export interface Resolver {
  resolve(host: string, options: { signal: AbortSignal }): Promise<readonly Answer[]>;
}

/** `10.0.0.53`, `10.0.0.53:5353`, `[fd00::53]:5353`; no names, since resolving them would need a name server. */
export function checkedServer(server: string): string {
  const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^[\]]+?))(?::(\d{1,5}))?$/.exec(server) ?? [];
  const isServer = isIP(server) !== 0 || isIP(bracketed ?? '') === 6 || isIP(plain ?? '') === 4;
  if (isServer && Number(port ?? 53) <= 65535 && Number(port ?? 53) > 0) return server;
  throw new Stop(exitCodes.configuration, `QUARTERDECK_DNS_SERVERS: "${server}" is not an address with a port; write it like 127.0.0.1:53`);
}

/**
 * c-ares, not getaddrinfo: getaddrinfo waits in the thread pool, where four slow names block every other one. c-ares reads neither
 * /etc/hosts nor nsswitch, so a name means the same on every machine.
 */
export function dnsResolver(servers: readonly string[] = [], timing: { timeoutMs?: number; tries?: number } = {}): Resolver {
  const checked = servers.map(checkedServer);
  const open = () => {
    const resolver = new DnsResolver({ timeout: timing.timeoutMs ?? 2000, tries: timing.tries ?? 2 });
    if (checked.length > 0) resolver.setServers(checked);
    return resolver;
  };
  let current = open();

  return {
    async resolve(host) {
      const used = current;
      const [v4, v6] = await Promise.allSettled([used.resolve4(host), used.resolve6(host)]);
      const found = [v4, v6].flatMap((settled) => (settled.status === 'fulfilled' ? settled.value : []));
      if (found.length > 0) return found.map((address) => ({ address }));

      // "No such record" of one family proves nothing while the query for the other family failed.
      const failures = [v4, v6].flatMap((settled) => (settled.status === 'rejected' ? [dnsFailure(settled.reason, host)] : []));
      const failure = failures.find(({ kind }) => kind !== 'dns_not_found') ?? failures[0];
      // A laptop that changed networks has other name servers now; c-ares reads the system's servers only when it is opened.
      if (failure?.kind !== 'dns_not_found' && checked.length === 0 && current === used) current = open();
      throw failure ?? new GuardFailure('dns_not_found', 'resolve', `${host} has no address in the DNS`);
    },
  };
}

/** The system's resolver. For the operator's own names alone: it waits in the thread pool. */
export const systemResolver: Resolver = {
  resolve: async (host) => {
    try {
      return await lookup(host, { all: true });
    } catch (error) {
      throw dnsFailure(error, host);
    }
  },
};
