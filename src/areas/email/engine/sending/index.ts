import type { SecureContext } from 'node:tls';
import type { Dns } from '../../../../kernel/dns/index.ts';
import type { Guard } from '../../../../kernel/guard/index.ts';
import type { Logger } from '../../../../kernel/log.ts';
import { makeRoutes, type Route, siteKey } from '../../clients/mx.ts';
import { type Timeouts, usualTimeouts } from '../../clients/smtp/conversation.ts';
import { limitsOf, type SiteLimits } from '../../rules/site.ts';
import type { Outcome, Outgoing, Sender } from '../outgoing.ts';
import { type Clock, realClock } from './clock.ts';
import { makeOpener, type Reach, rememberBrokenTls } from './open-site.ts';
import { Site } from './site.ts';
import { Slots } from './slots.ts';
import { openSmartHost, readSmartHost } from './smart-host.ts';

export interface SenderOptions {
  guard: Guard;
  dns: Dns;
  log: Logger;
  /** Who we are, in EHLO. */
  hostname: string;
  /** The port on which mail servers listen. */
  port: number;
  /** smtp:// or smtps://; empty: straight to where mail is taken in. */
  smartHost?: string;
  /** Reaches the smart host, which is the operator's own and may be at a private address. */
  operatorGuard?: Guard;
  /** Connections of all sites together: 200. */
  connections?: number;
  /** Messages that wait here for one site, and of one organization among them. The rest waits in the queue. */
  heldPerSite?: number;
  heldPerOrg?: number;
  idleMs?: number;
  timeouts?: Partial<Timeouts>;
  limits?: Partial<SiteLimits>;
  context?: SecureContext;
  clock?: Clock;
  random?: () => number;
}

const mostSites = 10_000;
/** Domains that are being looked up at once; a DNS that hangs must not gather messages here. */
const mostLookups = 500;

type Settle = (outcome: Outcome) => void;

export function makeSender(options: SenderOptions): Sender & { sites(): SiteState[] } {
  const { dns, log, clock = realClock, random = Math.random, heldPerSite = 2_000, heldPerOrg = 500 } = options;
  const timeouts = { ...usualTimeouts, ...options.timeouts };
  const slots = new Slots(options.connections ?? 200, clock);
  const routes = makeRoutes({ dns, now: clock.now });
  const sites = new Map<string, Site>();
  const ending = new AbortController();
  let isStopped = false;
  let underWay = 0;
  let idle: (() => void) | undefined;

  const context = options.context === undefined ? {} : { context: options.context };
  const reach: Reach = { ...options, ...context, timeouts, clock, random, brokenTls: rememberBrokenTls() };
  const smartHost = options.smartHost ? readSmartHost(options.smartHost) : undefined;

  const makeSite = (key: string, limits: SiteLimits, open: ConstructorParameters<typeof Site>[0]['open']) => {
    if (sites.size >= mostSites) for (const [old, site] of sites) if (site.isForgettable) sites.delete(old);
    const site = new Site({
      ...{ key, open, slots, clock, random, log, signal: ending.signal },
      limits: { ...limits, ...options.limits },
      isSmartHost: smartHost !== undefined,
      idleMs: options.idleMs ?? 30_000,
    });
    sites.set(key, site);
    return site;
  };
  const smartSite =
    smartHost && makeSite(smartHost.name, limitsOf([]), openSmartHost(reach, smartHost, options.operatorGuard ?? options.guard));

  const siteOf = (route: Route & { kind: 'hosts' }): Site => {
    const key = siteKey(route.hosts);
    const known = sites.get(key);
    if (known !== undefined) return known;
    const limits = limitsOf(route.hosts.map(({ name }) => name));
    const plan = { when: limits.requiresTls ? ('required' as const) : ('offered' as const), verify: false };
    return makeSite(
      key,
      limits,
      makeOpener(reach, route.hosts, async () => plan),
    );
  };

  const give = (site: Site, item: Outgoing, settle: Settle) => {
    if (site.held < heldPerSite && site.heldOf(item.org) < heldPerOrg) return site.take(item, settle);
    settle(waits(1, 'enough mail for this site waits here already'));
  };
  const follow = (route: Route, item: Outgoing, settle: Settle) => {
    if (route.kind === 'hosts') return give(siteOf(route), item, settle);
    const told = { stage: 'connect', response: route.sentence };
    if (route.kind === 'none') return settle({ kind: 'bounced', bounceType: 'hard', class: 'BadDomain', told });
    settle({ kind: 'waits', afterSeconds: 60 + Math.round(60 * random()), told });
  };
  const route = (item: Outgoing, settle: Settle) => {
    if (isStopped) return settle(waits(0, 'this server stops'));
    if (smartSite !== undefined) return give(smartSite, item, settle);
    const known = routes.known(item.domain);
    if (known !== undefined) return follow(known, item, settle);
    if (routes.asking >= mostLookups) return settle(waits(5, 'too many domains are being looked up at once'));
    routes.find(item.domain).then(
      (found) => follow(found, item, settle),
      (error) => {
        log.error({ err: error, domain: item.domain }, 'a domain could not be looked up');
        settle(waits(60, `the mail servers of ${item.domain} could not be looked up`));
      },
    );
  };

  const restOf = (domain: string, org: string): number => {
    const known = smartSite === undefined ? routes.known(domain) : undefined;
    if (smartSite === undefined && known?.kind !== 'hosts') return known?.kind === 'unknown' ? 15 : 0;
    const site = smartSite ?? sites.get(siteKey((known as Route & { kind: 'hosts' }).hosts));
    if (site === undefined) return 0;
    return Math.max(site.rest, site.held >= heldPerSite || site.heldOf(org) >= heldPerOrg ? 1 : 0);
  };

  return {
    send: (item) =>
      new Promise((resolve) => {
        underWay += 1;
        route(item, (outcome) => {
          underWay -= 1;
          if (underWay === 0) idle?.();
          resolve(outcome);
        });
      }),
    restOf,
    stop: async (graceMs) => {
      isStopped = true;
      for (const site of sites.values()) site.stop();
      if (underWay > 0) {
        const done = new Promise<void>((resolve) => {
          idle = resolve;
        });
        const cancel = clock.after(graceMs, () => {
          for (const site of sites.values()) site.abandon();
        });
        // Whoever is still being looked up is answered by `follow`, which finds every site stopped.
        await done;
        cancel();
      }
      ending.abort(new Error('this server stops'));
    },
    sites: () =>
      Array.from(sites, ([key, site]) => ({ key, connections: site.connections, pace: site.pace, held: site.held, rest: site.rest })),
  };
}

const waits = (afterSeconds: number, response: string): Outcome => ({ kind: 'waits', afterSeconds, told: { stage: 'connect', response } });

/** For metrics and whoever asks why mail waits. */
export interface SiteState {
  key: string;
  connections: number;
  pace: number;
  held: number;
  /** Seconds for which it is left alone. */
  rest: number;
}
