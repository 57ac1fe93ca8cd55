import { LRUCache } from 'lru-cache';
import { boundedTo } from '../../../../kernel/bounded-map.ts';
import type { Dns, DnsAnswer } from '../../../../kernel/dns/index.ts';
import { makeKeyedLimit } from '../../../../kernel/fairness/index.ts';

export interface MxHost {
  name: string;
  preference: number;
}

export interface HostsRoute {
  kind: 'hosts';
  hosts: MxHost[];
  /** The answer is DNSSEC-validated, so DANE may be used. */
  authentic: boolean;
  /** Host patterns of the enforced MTA-STS policy: mail goes only there, and under TLS. */
  enforced?: string[];
}

/** Mail servers of a domain. */
export type Route =
  | HostsRoute
  /** The domain accepts no mail. */
  | { kind: 'none'; sentence: string }
  /** The lookup failed. `isOurs`: no name server answered, or this server did not ask. */
  | { kind: 'unknown'; sentence: string; isOurs: boolean };

interface CachedRoute {
  route: Route;
  until: number;
}

/**
 * Routes by domain. A failed lookup is cached only for the organization that asked: its question may not have left at all, because its share of
 * DNS questions was used up.
 */
export interface Routes {
  /** From the cache only. */
  cached(domain: string, org: string): Route | undefined;
  /** Undefined: too many lookups are in flight. */
  find(domain: string, org: string): Promise<Route | undefined>;
}

/** Lookups in flight, in total and per organization, so that a hanging DNS does not pile up messages here. */
const maxLookups = { all: 500, each: 250 };

/** Further mail servers of a domain are ignored. */
const maxHosts = 10;
/** At least a minute, so that a TTL of 0 does not cause a lookup per message; at most an hour, so that a move is noticed. */
const minCacheSeconds = 60;
const maxCacheSeconds = 3600;
const unknownCacheSeconds = 30;

const normalizeHost = (name: string) => name.toLowerCase().replace(/\.$/, '');

export interface RouteOptions {
  dns: Dns;
  now: () => number;
  /** The enforced MTA-STS policy of a domain. */
  policyOf?: (domain: string) => Promise<{ policy: { mx: string[] } | undefined; isKnown: boolean; isCrowded?: true }>;
  maxCachedRoutes?: number;
}

export function makeRoutes({ dns, now, policyOf, maxCachedRoutes: remembered = 20_000 }: RouteOptions): Routes {
  const routes = new LRUCache<string, CachedRoute>(boundedTo(remembered));
  const inFlight = new Map<string, Promise<Route>>();
  const lookups = makeKeyedLimit(maxLookups);
  const cachedRoute = (key: string) => {
    const found = routes.get(key);
    return found !== undefined && found.until > now() ? found.route : undefined;
  };
  const known = (domain: string, org: string) => cachedRoute(domain) ?? cachedRoute(`${org} ${domain}`);
  const ask = async (domain: string, org: string) => {
    const [found, enforced] = await Promise.all([lookUp(dns, domain), policyOf?.(domain)]);
    const { route, seconds } =
      found.route.kind === 'hosts' && enforced?.isCrowded ? unknown(domain, { outcome: 'timeout', isCrowded: true }) : found;
    if (route.kind === 'hosts' && enforced?.policy) route.enforced = enforced.policy.mx;
    // The MTA-STS policy is unknown: cache briefly and for this organization only, so that others ask at once.
    const isSure = route.kind === 'none' || (route.kind === 'hosts' && enforced?.isKnown !== false);
    const secondsToCache = isSure ? seconds : Math.min(seconds, minCacheSeconds);
    routes.set(isSure ? domain : `${org} ${domain}`, { route, until: now() + 1000 * secondsToCache });
    return route;
  };
  return {
    cached: known,
    find: async (domain, org) => {
      const key = `${org} ${domain}`;
      const found = known(domain, org) ?? inFlight.get(key);
      if (found !== undefined) return found;
      const leave = lookups.acquire(org);
      if (!leave) return undefined;
      const lookup = ask(domain, org).finally(() => {
        inFlight.delete(key);
        leave();
      });
      inFlight.set(key, lookup);
      return lookup;
    },
  };
}

const cacheSeconds = (ttl: number) => Math.min(maxCacheSeconds, Math.max(minCacheSeconds, ttl));
export const isUnanswered = ({ outcome }: DnsAnswer) => outcome === 'servfail' || outcome === 'timeout';

type Unanswered = Pick<DnsAnswer, 'outcome' | 'isCrowded'>;

const unknown = (domain: string, answer: Unanswered): { route: Route; seconds: number } => ({
  route: {
    kind: 'unknown' as const,
    sentence: `the mail servers of ${domain} could not be looked up: ${reasonOf(answer)}`,
    isOurs: answer.isCrowded === true || answer.outcome === 'timeout',
  },
  seconds: unknownCacheSeconds,
});
const reasonOf = ({ outcome, isCrowded }: Unanswered) => {
  if (isCrowded) return 'this organization has asked the DNS as much at once as one may';
  return outcome === 'timeout' ? 'the DNS did not answer' : 'its name servers fail';
};
const none = (sentence: string, ttl: number) => ({ route: { kind: 'none' as const, sentence }, seconds: cacheSeconds(ttl) });

async function lookUp(dns: Dns, domain: string): Promise<{ route: Route; seconds: number }> {
  const answer = await dns.lookup(domain, 'MX');
  if (isUnanswered(answer)) return unknown(domain, answer);
  if (answer.outcome === 'nxdomain') return none(`the domain ${domain} does not exist`, answer.ttl);
  if (answer.outcome === 'nodata' || answer.records.length === 0) return lookUpImplicitMx(dns, domain, answer);

  const hosts = answer.records
    .map(({ data }) => data as { preference: number; exchange: string })
    .map(({ preference, exchange }) => ({ name: normalizeHost(exchange), preference }))
    .filter(({ name }) => name !== '');
  // RFC 7505: an MX whose host is the root.
  if (hosts.length === 0) return none(`the domain ${domain} says that it takes no mail (null MX)`, answer.ttl);
  hosts.sort((a, b) => a.preference - b.preference);
  return { route: { kind: 'hosts', hosts: hosts.slice(0, maxHosts), authentic: answer.authentic }, seconds: cacheSeconds(answer.ttl) };
}

/** RFC 5321 5.1: a domain without MX is its own mail server, if it has an address. */
async function lookUpImplicitMx(dns: Dns, domain: string, mx: DnsAnswer): Promise<{ route: Route; seconds: number }> {
  const answers = await Promise.all([dns.lookup(domain, 'A'), dns.lookup(domain, 'AAAA')]);
  const found = answers.find(({ records }) => records.length > 0);
  if (found !== undefined) {
    const route: Route = {
      kind: 'hosts',
      hosts: [{ name: normalizeHost(domain), preference: 0 }],
      authentic: mx.authentic && found.authentic,
    };
    return { route, seconds: cacheSeconds(Math.min(mx.ttl, found.ttl)) };
  }
  const silent = answers.find(isUnanswered);
  if (silent !== undefined) return unknown(domain, silent);
  return none(`the domain ${domain} has neither mail servers (MX) nor an address`, mx.ttl);
}

/** By preference; hosts with equal preference in random order, to spread the load. */
export function byPreference(hosts: readonly MxHost[], random: () => number): MxHost[] {
  return hosts
    .map((host) => ({ host, by: random() }))
    .sort((a, b) => a.host.preference - b.host.preference || a.by - b.by)
    .map(({ host }) => host);
}

/**
 * The site of a route: domains with the same servers, order and TLS conditions share it. The order is part of the key, because a hostile domain
 * may list another site's servers and must not change which of them is tried first. Host names are encoded, because a hostile name may hold
 * spaces and must not form another site's key.
 */
export function siteKey({ hosts, authentic, enforced }: HostsRoute): string {
  const conditions = enforced === undefined ? [] : ['enforced:', ...enforced.map(encodeURIComponent)];
  return [...rankHosts(hosts), ...conditions, ...(authentic ? ['authentic:'] : [])].join(' ');
}

/** Host names in order of preference, with a separator between ranks. The preference numbers themselves do not matter. */
function rankHosts(hosts: readonly MxHost[]): string[] {
  const best = new Map<string, number>();
  for (const { name, preference } of hosts) best.set(name, Math.min(preference, best.get(name) ?? Number.POSITIVE_INFINITY));
  const ranks = Map.groupBy(best.keys(), (name) => best.get(name)!);
  return [...ranks]
    .sort(([a], [b]) => a - b)
    .flatMap(([, names], rank) => [...(rank > 0 ? ['then:'] : []), ...names.map(encodeURIComponent).sort()]);
}
