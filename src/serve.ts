import { mkdir } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { availableParallelism } from 'node:os';
import type { FastifyInstance } from 'fastify';
import type { AnyArea, Running as RunningPart } from './areas/area.ts';
import type { Database } from './boot/database.ts';
import { docs } from './boot/docs.ts';
import { ensureOrganization, ensureOwnerToken, tellOwnerUrls } from './boot/first-start.ts';
import { homePage } from './boot/home-page.ts';
import { measureFaults } from './boot/measure-faults.ts';
import { closeMetrics, makeMetrics, measureJobs, measureRequests, measureSlots, serveMetrics } from './boot/metrics.ts';
import { type OpenAreas, openAreas } from './boot/open-areas.ts';
import { type EndSignals, makeParts, type Parts } from './boot/parts.ts';
import { type PreparedStart, prepareStart } from './boot/prepare-start.ts';
import { probes } from './boot/probes.ts';
import { serveRedirects } from './boot/redirect.ts';
import { checkStorage, openStorage } from './boot/storage.ts';
import { connectTryWorld, pointProviderToPhone } from './boot/try.ts';
import { bindOperations } from './identity/control-api/index.ts';
import { readBodies } from './identity/control-api/read-bodies.ts';
import { lastRequests } from './identity/last-request.ts';
import { makeLastUsed } from './identity/last-used.ts';
import { httpPayment, noPayment } from './identity/payment.ts';
import { makePrincipals, type Principal, type Principals } from './identity/principal.ts';
import { loadSession, loadToken } from './identity/rights.ts';
import { touchSessions } from './identity/store/sessions.ts';
import type { App } from './kernel/app.ts';
import { openRestoreHold } from './kernel/backup/restore-hold.ts';
import { makeCaches } from './kernel/cache.ts';
import type { Config } from './kernel/config.ts';
import { entryNotUsable } from './kernel/data/directory.ts';
import { readNodeId } from './kernel/data/node.ts';
import { connectionName, newServerName, registerServer } from './kernel/data/servers.ts';
import { openDb } from './kernel/db/index.ts';
import { makeDns } from './kernel/dns/index.ts';
import { exitCodes, Stop } from './kernel/errors.ts';
import { makeByteBudget, makeFairSemaphore, makeLoopWatch, makeRefusals } from './kernel/fairness/index.ts';
import { recordFaults } from './kernel/faults/record.ts';
import { makeGuard, parseAllow } from './kernel/guard/index.ts';
import { Connections } from './kernel/http/connections.ts';
import { makeDelayedRefusals } from './kernel/http/delayed-refusals.ts';
import { makePeers } from './kernel/http/peer.ts';
import { measurePlanes, mountPlane, servedElsewhere } from './kernel/http/plane.ts';
import { makeServer, refuseAtEnd } from './kernel/http/server.ts';
import { makeWaker, startWorker } from './kernel/jobs/index.ts';
import type { Ending } from './kernel/lifecycle/ending.ts';
import { type ListeningSockets, ownSockets } from './kernel/lifecycle/listening-sockets.ts';
import { listen } from './kernel/listen.ts';
import type { Logger } from './kernel/log.ts';
import { makeMail, relayMail } from './kernel/mail.ts';
import { type Migrations, migrate, readMigrations } from './kernel/migrate.ts';
import type { Role } from './kernel/roles.ts';
import { makeSecrets, openRing } from './kernel/secrets.ts';
import { sendMail } from './kernel/send-mail.ts';
import { answerProofs, makePresented, type Presenting, servesTls, takeProofConnections } from './kernel/tls/index.ts';
import { build } from './kernel/version.ts';
import { makeCertificate } from './kernel/x509/certificate.ts';
import type { TryWorld } from './try/index.ts';

export interface Running {
  app: App;
  url: string;
  /** What this process runs. */
  roles: ReadonlySet<Role>;
  /** Its areas, each with its running state. */
  open: OpenAreas;
  /** A stop, unless another ending is given. */
  stop(ending?: Ending): Promise<void>;
}

export interface ServeOptions {
  config: Config;
  log: Logger;
  areas: readonly AnyArea[];
  /** An open database instead of the configured one: tests give each file a copy of a migrated one. */
  database?: Database;
  /** A start that has begun already. */
  prepared?: PreparedStart;
  /** So long is a connection in use waited for before the pool opens another. */
  poolGrowthDelayMs?: number;
  strict?: boolean;
  /** The world of `serve --try`, started; `config` is the one that it returned. It stops with the server. */
  tryWorld?: TryWorld | undefined;
  /** Opens listening sockets; without it they end with this process. */
  sockets?: ListeningSockets;
  /** What the server before this one left for it. */
  handedOver?: ReadonlyMap<string, unknown>;
}

/** Kernel and identity first; then each area's own schema. */
export const migrationsOf = (areas: readonly AnyArea[]): Migrations[] => [
  { schema: 'kernel', folder: new URL('./kernel/migrations/', import.meta.url) },
  { schema: 'identity', folder: new URL('./identity/migrations/', import.meta.url) },
  ...areas.flatMap((a) => (a.migrations ? [a.migrations] : [])),
];

/** Starts everything in order; whatever fails, what was started before it is stopped again. */
export async function serve(options: ServeOptions): Promise<Running> {
  const signals = { leaving: new AbortController(), ending: new AbortController() };
  const parts = makeParts(options.log, signals);
  try {
    return await start(options, parts, signals);
  } catch (error) {
    await parts.end();
    throw entryNotUsable(options.config.data, error);
  }
}

async function start(options: ServeOptions, parts: Parts, { leaving, ending }: EndSignals): Promise<Running> {
  const { config, log, areas, tryWorld } = options;
  if (tryWorld) parts.add(() => tryWorld.stop());
  const { database } = options.prepared ?? (await prepareStart(config, log, { given: options.database, isTry: tryWorld !== undefined }));
  parts.add((end) => database.stop(end));
  await mkdir(config.data, { recursive: true });
  parts.add(recordFaults(config.data, log));
  const address = { url: '' };
  const app = await openApp(options, database, address, parts, ending.signal);

  const metrics = makeMetrics(app);
  measureFaults(metrics, config.data);
  const principals = makePrincipals(app.db, app.caches, {
    pat: loadToken,
    sess: loadSession,
    ...Object.assign({}, ...areas.map((a) => a.loaders ?? {})),
  });
  const open = await openAreas(areas, {
    app,
    roles: new Set(config.roles),
    principals,
    resources: areas.flatMap((a) => a.resources ?? []),
    payment: config.payment_url ? httpPayment(config.payment_url) : noPayment,
  });
  parts.add(open.stop);
  const { roles } = open;

  const tls = servesTls(config) ? await presentPublicHost(app, parts) : undefined;
  const counted = measurePlanes(metrics);
  const delayedRefusals = makeDelayedRefusals(app.watch.isBusy);
  const connections = new Connections(app.peers, undefined, metrics);
  leaving.signal.addEventListener('abort', () => connections.drain(), { once: true });
  const server = makeServer({
    log,
    peers: app.peers,
    tls,
    takeProofs: (listener) => tls && takeProofConnections(listener, app.presented),
    delayedRefusals,
    isBusy: app.watch.isBusy,
    connections,
    raw: [
      answerProofs(app.presented),
      ...(tryWorld ? [tryWorld.raw] : []),
      ...open.planes.map((plane) => mountPlane(plane, { log, roles, counted, delayedRefusals })),
    ],
    ...(roles.has('api') ? {} : { elsewhere: () => servedElsewhere('api', roles) }),
  });
  readBodies(server, app);
  measureRequests(server, metrics);
  probes(server, app, metrics, { roles, leaving: leaving.signal });
  if (roles.has('api')) serveControlApi(server, app, open, principals, parts);
  if (roles.has('worker')) {
    const events = measureJobs(metrics, app);
    const worker = startWorker({ app, jobs: [sendMail, ...open.jobs], tasks: open.tasks, events });
    measureSlots(metrics, worker);
    parts.addBackground(({ backgroundMs }) => worker.stop({ graceMs: backgroundMs }));
  }
  await runAreas(open, metrics, parts);
  if (tryWorld) connectTryWorld(tryWorld, app);
  const aside = await serveMetrics(app, metrics);
  if (aside) parts.add(() => closeMetrics(app, aside));
  const redirecting = roles.has('api') ? await serveRedirects(app) : undefined;
  if (redirecting) parts.addListening(redirecting);
  parts.addListening({
    drain: async ({ requestMs }) => {
      app.sockets.close(server.server);
      const left = await connections.end(requestMs, refuseAtEnd);
      if (left.refused + left.cut > 0) log.warn(left, 'requests did not finish in time; their callers have to come again');
    },
    stop: () => server.close(),
  });
  address.url = await bind(server, app, Boolean(tls));
  app.presented.markListening();
  if (database.embedded) await tellOwnerUrls(config.data, [address.url, config.public_url]);
  if (tryWorld) await pointProviderToPhone(app);
  return { app, url: address.url, roles, open, stop: parts.end };
}

async function runAreas({ opened, roles }: OpenAreas, metrics: ReturnType<typeof makeMetrics>, parts: Parts): Promise<void> {
  for (const area of opened) {
    area.opened.metrics?.(metrics);
    for (const role of roles) {
      const part = await area.opened.runs?.[role]?.();
      if (part) addPart(parts, role, part);
    }
  }
}

function addPart(parts: Parts, role: Role, { passOn, drain, stop }: RunningPart) {
  if (drain) parts.addListening({ ...(passOn ? { passOn } : {}), drain, stop });
  else if (role === 'worker' || role === 'prober') parts.addBackground(stop);
  else parts.add(stop);
}

/** What every part leans on: the database, migrated; its listener and waker; keys, storage, the way out. */
async function openApp(
  options: ServeOptions,
  database: Database,
  address: { url: string },
  parts: Parts,
  ending: AbortSignal,
): Promise<App> {
  const { config, log, areas, strict = false, sockets = ownSockets, handedOver = new Map() } = options;
  if (!database.isMigrated) await migrate(database.connection, readMigrations(migrationsOf(areas)), undefined, log);
  const refusals = makeRefusals(log);
  const watch = makeLoopWatch(
    (operation, ms) => ms >= loopWarningMs && log.warn({ act: operation, ms: Math.round(ms) }, 'one piece of work held up everything else'),
  );
  const db = openDb({
    connection: database.connection,
    max: config.database_pool,
    perOrg: maxConnectionsPerOrg(config.database_pool),
    perOrgWhenContended: perOrgWhenContended(config.database_pool),
    patienceMs: options.poolGrowthDelayMs ?? poolGrowthDelayMs,
    watch,
    refused: refusals.of('connections'),
    checkRows: strict,
    onError: (error) => log.warn({ err: error }, 'trouble beside the database’s statements'),
  });
  parts.add(() => db.end());
  const ring = await db.write(async (tx) => {
    await ensureOrganization(tx, config);
    if (database.embedded) await ensureOwnerToken(tx, config.data);
    return openRing(tx, config.data);
  });
  const name = newServerName(await readNodeId(config));
  const listener = await listen({ connection: database.direct, name: connectionName(name) });
  parts.add(() => listener.close());
  const noted = await registerServer(db, { ...name, version: build, roles: config.roles }, ring, log);
  parts.add(() => noted.stop());
  const secrets = makeSecrets(config.data, ring, noted.registerKeys);
  parts.add(() => secrets.close());
  const waker = makeWaker({ db, connection: database.connection, listener });
  parts.add(() => waker.close());
  const opened = await openStorage(config);
  parts.add(() => opened.close());
  const { storage, stop: stopChecking } = await checkStorage(db, opened, config, log);
  parts.add(stopChecking);
  const allow = parseAllow(config.allow_private_cidrs);
  const hold = await openRestoreHold(db, log);
  parts.add(() => hold.stop());
  const from = config.mail_from || `quarterdeck@${hostOf(config.public_url)}`;

  return {
    config,
    db,
    connection: database.connection,
    listener,
    caches: makeCaches(listener, log),
    waker,
    guard: makeGuard({ allow, dnsServers: config.dns_servers }),
    dns: makeDns({ allow, servers: config.dns_servers }),
    storage,
    secrets,
    mail: makeMail(relayMail({ relay: config.smtp_relay, from }), hold),
    hold,
    peers: makePeers(config.trusted_proxies),
    presented: makePresented({ config, log }),
    watch,
    requests: makeFairSemaphore({ ...requestShares, onRefused: refusals.of('requests') }),
    heavy: makeFairSemaphore({ ...heavyShares, onRefused: refusals.of('large bodies') }),
    refusals,
    bodies: makeByteBudget(bodyShares(config.body_memory)),
    sockets,
    ending,
    handedOver,
    log,
    process: name.process,
    version: build,
    publicUrl: () => config.public_url || address.url,
    strict,
  };
}

/** The main listener's certificates. A start never waits for an authority: until the first certificate arrives it presents its own. */
async function presentPublicHost({ presented, publicUrl, log }: App, parts: Parts): Promise<Presenting> {
  const host = hostOf(publicUrl());
  const presenting = await presented.open(host, () => {
    log.warn({ host }, 'there is no certificate yet; a self-signed one is presented until the first arrives');
    return makeCertificate(host);
  });
  parts.add(() => presenting.stop());
  return presenting;
}

/** Of the connections, an organization may have two thirds; beside others who have had less, a quarter, or one for each processor. */
const maxConnectionsPerOrg = (connections: number) => Math.max(1, Math.floor((connections * 2) / 3));
const perOrgWhenContended = (connections: number) =>
  Math.min(maxConnectionsPerOrg(connections), Math.max(Math.floor(connections / 4), availableParallelism()));

/** As many organizations at once as there are, each with so many requests, and with one body of megabytes. */
const requestShares = { slots: Number.POSITIVE_INFINITY, perOrg: 8, waitMs: 10_000 };
const heavyShares = { slots: Number.POSITIVE_INFINITY, perOrg: 1, waitMs: 10_000 };

/** Of the memory for bodies, an organization may fill half as long as it leaves as much, and one of its credentials three quarters of that. (Three fifths of what is left then are three quarters of what the organization may have.) All who have not logged in have a quarter together, from however many addresses. */
function bodyShares(mebibytes: number) {
  const total = mebibytes * 2 ** 20;
  const maxPerHolder = { org: total / 2, credential: (total * 3) / 8, address: total / 16 };
  return { total, maxPerHolder, maxShareOfFree: { org: 1, credential: 3 / 5 }, maxPerKind: { address: total / 4 } };
}

/** Work that blocks the event loop for longer than this is named in the log. */
const loopWarningMs = 200;

/** A statement takes less. */
const poolGrowthDelayMs = 10;

function serveControlApi(server: FastifyInstance, app: App, open: OpenAreas, principals: Principals, parts: Parts) {
  const requests = lastRequests(app);
  parts.add(() => requests.close());
  const seen = makeLastUsed(app, touchSessions);
  parts.add(() => seen.stop());
  const used = (principal: Principal) => (principal.session ? seen : requests).used(principal.id);
  bindOperations(server, open.operations, { app, principals, used });
  for (const { opened } of open.opened) opened.routes?.(server);
  const served = open.operations.map((o) => o.spec);
  homePage(server, app, served);
  docs(server, served, build);
}

const hostOf = (url: string) => (url ? new URL(url).hostname : 'localhost');

async function bind(server: FastifyInstance, { sockets, config: { listen: at } }: App, tls: boolean): Promise<string> {
  const { host, port } = at;
  await server.ready();
  try {
    await sockets.listen(server.server, 'http', at);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE')
      throw new Stop(
        exitCodes.portTaken,
        `port ${port} on ${host} is taken by another program; stop it, or set QUARTERDECK_LISTEN to another host:port`,
      );
    if (code === 'EACCES' || code === 'EADDRNOTAVAIL')
      throw new Stop(exitCodes.portTaken, `cannot listen on ${host}:${port} (${code}); set QUARTERDECK_LISTEN to another host:port`);
    throw error;
  }
  const bound = server.server.address() as AddressInfo;
  return `${tls ? 'https' : 'http'}://${bound.family === 'IPv6' ? `[${bound.address}]` : bound.address}:${bound.port}`;
}
