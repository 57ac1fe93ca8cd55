/**
 * Sending: delivers one message to one recipient's mail servers by SMTP. Each process has one sender for tenants' mail and one for the product's own.
 *
 * Actors: `SiteSender` finds the route; a `Site` (site.ts) is one set of mail servers in one order, or the smart host. It has a queue (site-queue.ts),
 * connections (site-connections.ts), a connection limit (site-pace.ts), a limit of new connections (open-rate.ts) and a backoff (site-backoff.ts).
 * `ConnectionSlots` (slots.ts) limits connections of all sites; open-site.ts opens sessions, with the TLS requirements of plan-tls.ts; outcome.ts
 * turns replies into outcomes.
 *
 * Flow: `send` → route from the cache or by DNS lookup (MX, MTA-STS) → the site's round-robin queue, organizations in turn → an idle session, or a new
 * one (slot, token bucket of connections per minute) → MAIL, RCPT, DATA → reply → outcome. At most 2,000 messages wait here
 * for one site, 500 of them of one organization. A message that waited ten minutes goes back to its row.
 *
 * States of a site: on trial (one connection) → proven after its first answered message (connection limit by rules/site.ts: raised slowly, halved when
 * the site asks for less) → backoff after a failed connection, or after three lost sessions in a row. Each backoff is longer; then the site is on trial again.
 *
 * Outcomes: delivered; bounced; deferred (a temporary refusal of this message); waits (the site or this server is the reason, no attempt was made).
 *
 * All state is in memory. After a crash the queue's leases lapse and its rows are sent by another process; every site starts on trial.
 */

import type { SecureContext } from 'node:tls';
import type { Dns } from '../../../../../kernel/dns/index.ts';
import type { Guard, TlsOptions } from '../../../../../kernel/guard/index.ts';
import type { Logger } from '../../../../../kernel/log.ts';
import { makeMtaSts } from '../../clients/mta-sts.ts';
import { type HostsRoute, makeRoutes, type Route, type Routes, siteKey } from '../../clients/mx.ts';
import { defaultTimeouts, type Timeouts } from '../../clients/smtp/connection.ts';
import type { Session } from '../../clients/smtp/session.ts';
import { limitsOf, type SiteLimits } from '../../rules/site.ts';
import type { LocalReason, Outcome, Outgoing, Sender } from '../outgoing.ts';
import { type Clock, realClock } from './clock.ts';
import { type ConnectOptions, makeBrokenTlsCache, makeSessionOpener } from './open-site.ts';
import { planTls } from './plan-tls.ts';
import { Site } from './site.ts';
import { ConnectionSlots } from './slots.ts';
import { openSmartHost, readSmartHost } from './smart-host.ts';

export interface SenderOptions {
  guard: Guard;
  dns: Dns;
  log: Logger;
  /** This server's name in EHLO. */
  hostname: string;
  /** The port of remote mail servers. */
  port: number;
  /** smtp:// or smtps://; empty: straight to the recipients' mail servers. */
  smartHost?: string;
  /** Reaches the smart host: the operator's own server, which may have a private address. */
  operatorGuard?: Guard;
  /** Connections to all sites together; 200 by default. */
  maxConnections?: number;
  /** Messages that wait here for one site, in total and per organization. The rest waits in the queue. */
  maxWaitingPerSite?: number;
  maxWaitingPerOrg?: number;
  idleMs?: number;
  timeouts?: Partial<Timeouts>;
  limits?: Partial<SiteLimits>;
  context?: SecureContext;
  /** For tests: where MTA-STS policies are served. */
  policies?: { port: number; tls: TlsOptions };
  clock?: Clock;
  random?: () => number;
}

const maxSites = 10_000;

type Settle = (outcome: Outcome) => void;

export const makeSender = (options: SenderOptions) => new SiteSender(options);

class SiteSender implements Sender {
  readonly #options: SenderOptions;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #slots: ConnectionSlots;
  readonly #routes: Routes;
  readonly #connectOptions: ConnectOptions;
  readonly #sites = new Map<string, Site>();
  /** The site key of each cached route: computing it costs more than the lookup. */
  readonly #keys = new WeakMap<HostsRoute, string>();
  readonly #smartSite: Site | undefined;
  readonly #stopping = new AbortController();
  #isStopped = false;
  #inFlight = 0;
  #onIdle: (() => void) | undefined;

  constructor(options: SenderOptions) {
    const { dns, guard, log, context, clock = realClock, random = Math.random } = options;
    this.#options = options;
    this.#clock = clock;
    this.#random = random;
    this.#slots = new ConnectionSlots(options.maxConnections ?? 200, clock);
    const policyOf = makeMtaSts({ dns, guard, log, now: clock.now, ...options.policies });
    this.#routes = makeRoutes({ dns, now: clock.now, policyOf });
    this.#connectOptions = {
      guard,
      port: options.port,
      hostname: options.hostname,
      timeouts: { ...defaultTimeouts, ...options.timeouts },
      clock,
      random,
      ...(context === undefined ? {} : { context }),
      brokenTls: makeBrokenTlsCache(),
    };
    const smartHost = options.smartHost ? readSmartHost(options.smartHost) : undefined;
    const open = smartHost && openSmartHost(this.#connectOptions, smartHost, options.operatorGuard ?? guard);
    this.#smartSite = smartHost && this.#addSite(smartHost.name, limitsOf([]), open!, true);
  }

  send(item: Outgoing): Promise<Outcome> {
    return new Promise((resolve) => {
      this.#inFlight += 1;
      this.#route(item, (outcome) => {
        this.#inFlight -= 1;
        if (this.#inFlight === 0) this.#onIdle?.();
        resolve(outcome);
      });
    });
  }

  backoffSeconds(domain: string, org: string): number {
    const route = this.#smartSite === undefined ? this.#routes.cached(domain, org) : undefined;
    if (route?.kind === 'unknown') return 15;
    const site = this.#smartSite ?? (route?.kind === 'hosts' ? this.#sites.get(this.#keyOf(route)) : undefined);
    if (site === undefined) return 0;
    return Math.max(site.backoffSeconds, this.#hasRoom(site, org) ? 0 : 1);
  }

  async stop(graceMs: number): Promise<void> {
    this.#isStopped = true;
    for (const site of this.#sites.values()) site.stop();
    if (this.#inFlight > 0) {
      const done = new Promise<void>((resolve) => {
        this.#onIdle = resolve;
      });
      const cancel = this.#clock.after(graceMs, () => {
        for (const site of this.#sites.values()) site.abandon();
      });
      // Messages whose domain is still being looked up are settled by `#deliverTo`, which finds the sender stopped.
      await done;
      cancel();
    }
    this.#stopping.abort(new Error('this server stops'));
  }

  sites(): SiteState[] {
    return Array.from(this.#sites, ([key, { connections, maxConnections, waiting, backoffSeconds }]) => ({
      key,
      connections,
      maxConnections,
      waiting,
      backoffSeconds,
    }));
  }

  #route(item: Outgoing, settle: Settle) {
    if (this.#isStopped) return settle(waitOutcome(0, 'this server stops', 'stop'));
    if (this.#smartSite !== undefined) return this.#enqueue(this.#smartSite, item, settle);
    const known = this.#routes.cached(item.domain, item.org);
    if (known !== undefined) return this.#deliverTo(known, item, settle);
    this.#routes.find(item.domain, item.org).then(
      (found) => (found ? this.#deliverTo(found, item, settle) : settle(waitOutcome(5, 'too many domains are being looked up at once'))),
      (error) => {
        this.#options.log.error({ err: error, domain: item.domain }, 'a domain could not be looked up');
        settle(waitOutcome(60, `the mail servers of ${item.domain} could not be looked up`));
      },
    );
  }

  #deliverTo(route: Route, item: Outgoing, settle: Settle) {
    if (this.#isStopped) return settle(waitOutcome(0, 'this server stops', 'stop'));
    if (route.kind === 'hosts') return this.#enqueue(this.#siteOf(route), item, settle);
    const serverReply = { stage: 'connect', response: route.sentence };
    if (route.kind === 'none') return settle({ kind: 'bounced', bounceType: 'hard', class: 'BadDomain', serverReply });
    settle({
      kind: 'waits',
      afterSeconds: 60 + Math.round(60 * this.#random()),
      serverReply,
      ...(route.isOurs ? { because: 'ours' } : {}),
    });
  }

  #enqueue(site: Site, item: Outgoing, settle: Settle) {
    if (this.#hasRoom(site, item.org)) return site.enqueue(item, settle);
    settle(waitOutcome(1, 'enough mail for this site waits here already'));
  }

  #hasRoom(site: Site, org: string): boolean {
    const { maxWaitingPerSite = 2_000, maxWaitingPerOrg = 500 } = this.#options;
    return site.waiting < maxWaitingPerSite && site.waitingOf(org) < maxWaitingPerOrg;
  }

  #keyOf(route: HostsRoute): string {
    const key = this.#keys.get(route) ?? siteKey(route);
    this.#keys.set(route, key);
    return key;
  }

  #siteOf(route: HostsRoute): Site {
    const key = this.#keyOf(route);
    const known = this.#sites.get(key);
    if (known !== undefined) return known;
    const limits = limitsOf(route.hosts.map(({ name }) => name));
    const { dns, port } = this.#options;
    return this.#addSite(key, limits, makeSessionOpener(this.#connectOptions, route.hosts, planTls(route, limits, dns, port)), false);
  }

  #addSite(key: string, limits: SiteLimits, open: (signal: AbortSignal) => Promise<Session>, isSmartHost: boolean): Site {
    if (this.#sites.size >= maxSites) for (const [old, site] of this.#sites) if (site.isEvictable) this.#sites.delete(old);
    const site = new Site({
      key,
      open,
      isSmartHost,
      slots: this.#slots,
      clock: this.#clock,
      random: this.#random,
      log: this.#options.log,
      signal: this.#stopping.signal,
      limits: { ...limits, ...this.#options.limits },
      idleMs: this.#options.idleMs ?? 30_000,
    });
    this.#sites.set(key, site);
    return site;
  }
}

const waitOutcome = (afterSeconds: number, response: string, because: LocalReason = 'ours'): Outcome => ({
  kind: 'waits',
  afterSeconds,
  serverReply: { stage: 'connect', response },
  because,
});

/** A snapshot of one site, for metrics and tests. */
export interface SiteState {
  key: string;
  connections: number;
  maxConnections: number;
  waiting: number;
  /** Remaining seconds of backoff. */
  backoffSeconds: number;
}
