import { LRUCache } from 'lru-cache';
import { boundedTo } from '../../../kernel/bounded-map.ts';
import type { Dns, DnsAnswer } from '../../../kernel/dns/index.ts';
import { makeKeyedLimit } from '../../../kernel/fairness/index.ts';

export interface MxHost {
  name: string;
  preference: number;
}

export interface ToHosts {
  kind: 'hosts';
  hosts: MxHost[];
  /** DNSSEC vouches for these hosts, so that DANE may be believed. */
  authentic: boolean;
  /** Names of hosts, the only ones to which the domain lets its mail go, and under TLS (MTA-STS). */
  enforced?: string[];
}

/** Where a domain's mail goes. */
export type Route =
  | ToHosts
  /** The domain takes no mail, and will not soon. */
  | { kind: 'none'; sentence: string }
  /** The DNS did not say. `isOurs`: no name server answered us, or we did not ask. */
  | { kind: 'unknown'; sentence: string; isOurs: boolean };

interface Known {
  route: Route;
  until: number;
}

/**
 * Each organization asks for itself, and what nobody answered it is known to it alone: its questions may not even have left, since it has used
 * up its share of them.
 */
export interface Routes {
  /** Without asking anybody, if it is known. */
  known(domain: string, org: string): Route | undefined;
  /** Undefined: too many domains are being asked for. */
  find(domain: string, org: string): Promise<Route | undefined>;
}

/** Domains that are being looked up at once, in all and for one organization: a DNS that hangs must not gather messages here. */
const mostLookups = { all: 500, each: 250 };

/** A domain with hundreds of mail servers is not our patience's to waste. */
const mostHosts = 10;
/** Believed at least a minute, so that a TTL of 0 does not ask for each message; at most an hour, so that a move is noticed. */
const leastSeconds = 60;
const mostSeconds = 3600;
const unknownSeconds = 30;

const clean = (name: string) => name.toLowerCase().replace(/\.$/, '');

export interface RouteNeeds {
  dns: Dns;
  now: () => number;
  /** What the domain enforces, if it does (MTA-STS). */
  policyOf?: (domain: string) => Promise<{ policy: { mx: string[] } | undefined; isKnown: boolean; isCrowded?: true }>;
  remembered?: number;
}

export function makeRoutes({ dns, now, policyOf, remembered = 20_000 }: RouteNeeds): Routes {
  const routes = new LRUCache<string, Known>(boundedTo(remembered));
  const asked = new Map<string, Promise<Route>>();
  const lookups = makeKeyedLimit(mostLookups);
  const holding = (place: string) => {
    const found = routes.get(place);
    return found !== undefined && found.until > now() ? found.route : undefined;
  };
  const known = (domain: string, org: string) => holding(domain) ?? holding(`${org} ${domain}`);
  const ask = async (domain: string, org: string) => {
    const [found, enforced] = await Promise.all([lookUp(dns, domain), policyOf?.(domain)]);
    const { route, seconds } =
      found.route.kind === 'hosts' && enforced?.isCrowded ? unknown(domain, { outcome: 'timeout', isCrowded: true }) : found;
    if (route.kind === 'hosts' && enforced?.policy) route.enforced = enforced.policy.mx;
    // What it may enforce was not found out: asked again soon, and by everybody else at once.
    const isSure = route.kind === 'none' || (route.kind === 'hosts' && enforced?.isKnown !== false);
    const believedFor = isSure ? seconds : Math.min(seconds, leastSeconds);
    routes.set(isSure ? domain : `${org} ${domain}`, { route, until: now() + 1000 * believedFor });
    return route;
  };
  return {
    known,
    find: async (domain, org) => {
      const place = `${org} ${domain}`;
      const found = known(domain, org) ?? asked.get(place);
      if (found !== undefined) return found;
      const leave = lookups.acquire(org);
      if (!leave) return undefined;
      const underWay = ask(domain, org).finally(() => {
        asked.delete(place);
        leave();
      });
      asked.set(place, underWay);
      return underWay;
    },
  };
}

const believed = (ttl: number) => Math.min(mostSeconds, Math.max(leastSeconds, ttl));
export const isSilent = ({ outcome }: DnsAnswer) => outcome === 'servfail' || outcome === 'timeout';

type Silence = Pick<DnsAnswer, 'outcome' | 'isCrowded'>;

const unknown = (domain: string, answer: Silence): { route: Route; seconds: number } => ({
  route: {
    kind: 'unknown' as const,
    sentence: `the mail servers of ${domain} could not be looked up: ${reasonOf(answer)}`,
    isOurs: answer.isCrowded === true || answer.outcome === 'timeout',
  },
  seconds: unknownSeconds,
});
const reasonOf = ({ outcome, isCrowded }: Silence) => {
  if (isCrowded) return 'this organization has asked the DNS as much at once as one may';
  return outcome === 'timeout' ? 'the DNS did not answer' : 'its name servers fail';
};
const none = (sentence: string, ttl: number) => ({ route: { kind: 'none' as const, sentence }, seconds: believed(ttl) });

async function lookUp(dns: Dns, domain: string): Promise<{ route: Route; seconds: number }> {
  const answer = await dns.lookup(domain, 'MX');
  if (isSilent(answer)) return unknown(domain, answer);
  if (answer.outcome === 'nxdomain') return none(`the domain ${domain} does not exist`, answer.ttl);
  if (answer.outcome === 'nodata' || answer.records.length === 0) return implicit(dns, domain, answer);

  const hosts = answer.records
    .map(({ data }) => data as { preference: number; exchange: string })
    .map(({ preference, exchange }) => ({ name: clean(exchange), preference }))
    .filter(({ name }) => name !== '');
  // RFC 7505: an MX whose host is the root.
  if (hosts.length === 0) return none(`the domain ${domain} says that it takes no mail (null MX)`, answer.ttl);
  hosts.sort((a, b) => a.preference - b.preference);
  return { route: { kind: 'hosts', hosts: hosts.slice(0, mostHosts), authentic: answer.authentic }, seconds: believed(answer.ttl) };
}

/** RFC 5321 5.1: a domain without MX takes its mail itself, if it has an address. */
async function implicit(dns: Dns, domain: string, mx: DnsAnswer): Promise<{ route: Route; seconds: number }> {
  const answers = await Promise.all([dns.lookup(domain, 'A'), dns.lookup(domain, 'AAAA')]);
  const found = answers.find(({ records }) => records.length > 0);
  if (found !== undefined) {
    const route: Route = { kind: 'hosts', hosts: [{ name: clean(domain), preference: 0 }], authentic: mx.authentic && found.authentic };
    return { route, seconds: believed(Math.min(mx.ttl, found.ttl)) };
  }
  const silent = answers.find(isSilent);
  if (silent !== undefined) return unknown(domain, silent);
  return none(`the domain ${domain} has neither mail servers (MX) nor an address`, mx.ttl);
}

/** Best first; those that are equally good in any order, so that each gets its part. */
export function inOrder(hosts: readonly MxHost[], random: () => number): MxHost[] {
  return hosts
    .map((host) => ({ host, by: random() }))
    .sort((a, b) => a.host.preference - b.host.preference || a.by - b.by)
    .map(({ host }) => host);
}

/**
 * One name for all domains whose mail the same servers take in the same order, under the same conditions. The order is part of it: a stranger's
 * domain may name somebody's servers too, and must not decide which of them is tried first. A stranger's names may hold any character, a space
 * too: they must not add up to the name of somebody else's site.
 */
export function siteKey({ hosts, authentic, enforced }: ToHosts): string {
  const conditions = enforced === undefined ? [] : ['enforced:', ...enforced.map(encodeURIComponent)];
  return [...rankHosts(hosts), ...conditions, ...(authentic ? ['authentic:'] : [])].join(' ');
}

/** The names in the order of their preferences, with a mark where a lesser one begins; which numbers they are is nothing. */
function rankHosts(hosts: readonly MxHost[]): string[] {
  const best = new Map<string, number>();
  for (const { name, preference } of hosts) best.set(name, Math.min(preference, best.get(name) ?? Number.POSITIVE_INFINITY));
  const ranks = Map.groupBy(best.keys(), (name) => best.get(name)!);
  return [...ranks]
    .sort(([a], [b]) => a - b)
    .flatMap(([, names], rank) => [...(rank > 0 ? ['then:'] : []), ...names.map(encodeURIComponent).sort()]);
}
