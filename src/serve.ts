import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Area } from './areas/area.ts';
import { type Database, openDatabase } from './boot/database.ts';
import { docs } from './boot/docs.ts';
import { followTls, readTls } from './boot/edge.ts';
import { ensureOrganization, ensureOwnerToken, tellOwnerUrls } from './boot/first-start.ts';
import { makeMetrics, measureJobs, measureRequests, serveMetrics } from './boot/metrics.ts';
import { probes } from './boot/probes.ts';
import { openStorage } from './boot/storage.ts';
import { bindOperations } from './identity/bind.ts';
import { lastRequests } from './identity/last-request.ts';
import { httpPayment, noPayment } from './identity/payment.ts';
import { makePrincipals } from './identity/principal.ts';
import { loadToken } from './identity/rights.ts';
import type { App } from './kernel/app.ts';
import { makeCaches } from './kernel/cache.ts';
import type { Config } from './kernel/config.ts';
import { openDb } from './kernel/db.ts';
import { exitCodes, Stop } from './kernel/errors.ts';
import { makeGuard, parseAllow } from './kernel/guard/index.ts';
import { makeServer } from './kernel/http/server.ts';
import { makeWaker, startWorker } from './kernel/jobs/index.ts';
import { listen } from './kernel/listen.ts';
import type { Logger } from './kernel/log.ts';
import { relayMail, sendMail } from './kernel/mail.ts';
import { type Migrations, migrate, readMigrations } from './kernel/migrate.ts';
import { makeSecrets, openRing } from './kernel/secrets.ts';

export interface Running {
  app: App;
  url: string;
  stop(): Promise<void>;
}

export interface ServeOptions {
  config: Config;
  log: Logger;
  areas: Area[];
  /** An open database instead of the configured one: tests give each file a copy of a migrated one. */
  database?: Database;
  strict?: boolean;
}

export const version: string = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version;

/** Kernel and identity first; then each area's own schema. */
export const migrationsOf = (areas: Area[]): Migrations[] => [
  { schema: 'kernel', folder: new URL('./kernel/migrations/', import.meta.url) },
  { schema: 'identity', folder: new URL('./identity/migrations/', import.meta.url) },
  ...areas.flatMap((a) => (a.migrations ? [a.migrations] : [])),
];

/** Starts everything in order; whatever fails, what was started before it is stopped again. */
export async function serve(options: ServeOptions): Promise<Running> {
  const stops: (() => Promise<unknown>)[] = [];
  const stop = async () => {
    for (const act of stops.splice(0).reverse())
      await act().catch((error) => options.log.error({ err: error }, 'a part did not stop cleanly'));
  };
  try {
    return await start(options, stops, stop);
  } catch (error) {
    await stop();
    throw error;
  }
}

async function start(
  { config, log, areas, database: given, strict = false }: ServeOptions,
  stops: (() => Promise<unknown>)[],
  stop: () => Promise<void>,
): Promise<Running> {
  const tls = readTls(config);
  const database = given ?? (await openDatabase(config, log));
  stops.push(() => database.stop());
  await migrate(database.connection, await readMigrations(migrationsOf(areas)));

  const db = openDb({
    connection: database.connection,
    max: config.database_pool,
    checkRows: strict,
    onError: (error) => log.warn({ err: error }, 'trouble beside the database’s statements'),
  });
  stops.push(() => db.end());
  await mkdir(config.data, { recursive: true });
  const ring = await db.write(async (tx) => {
    await ensureOrganization(tx, config);
    if (database.embedded) await ensureOwnerToken(tx, config.data);
    return openRing(tx, config.data);
  });
  const secrets = makeSecrets(config.data, ring);
  stops.push(async () => secrets.close());

  const listener = await listen({ connection: database.direct });
  stops.push(() => listener.close());
  const waker = makeWaker({ db, connection: database.connection, listener });
  stops.push(() => waker.close());
  const storage = await openStorage(config);
  stops.push(async () => storage.close());

  let url = '';
  const app: App = {
    config,
    db,
    connection: database.connection,
    listener,
    caches: makeCaches(listener, log),
    waker,
    guard: makeGuard({ allow: parseAllow(config.allow_private_cidrs), dnsServers: config.dns_servers }),
    storage,
    secrets,
    mail: relayMail({ relay: config.smtp_relay, from: config.mail_from || `quarterdeck@${hostOf(config.public_url)}` }),
    log,
    version,
    publicUrl: () => config.public_url || url,
    ports: {
      payment: config.payment_url ? httpPayment(config.payment_url) : noPayment,
      resources: areas.flatMap((a) => a.resources ?? []),
      references: areas.flatMap((a) => a.references ?? []),
      monitorsOf: async () => new Map(),
      policiesOf: async () => new Map(),
      observedOf: async () => new Map(),
      maintenanceOf: async () => [],
      ...Object.assign({}, ...areas.map((a) => a.ports ?? {})),
    },
    strict,
  };

  const requests = lastRequests(app);
  stops.push(() => requests.close());
  const metrics = makeMetrics(app);
  const principals = makePrincipals(db, app.caches, { pat: loadToken, ...Object.assign({}, ...areas.map((a) => a.loaders ?? {})) });
  const server = makeServer({
    log,
    trustedProxies: config.trusted_proxies,
    tls,
    raw: areas.flatMap((a) => (a.raw ? [a.raw(app, principals)] : [])),
  });
  measureRequests(server, metrics);
  probes(server, app, metrics);
  const operations = areas.flatMap((a) => a.operations);
  bindOperations(server, operations, { app, principals, used: (principal) => requests.used(principal.id) });
  for (const { pages } of areas) pages?.(server, app);
  docs(
    server,
    operations.map((o) => o.spec),
    version,
    log,
  );

  const worker = config.roles.includes('worker')
    ? startWorker({
        app,
        jobs: [sendMail, ...areas.flatMap((a) => a.jobs ?? [])],
        tasks: areas.flatMap((a) => a.tasks ?? []),
        events: measureJobs(metrics, app),
      })
    : undefined;
  if (worker) stops.push(() => worker.stop({ graceMs: drainMs }));
  for (const area of areas) {
    area.metrics?.(metrics, app);
    const part = await area.start?.(app);
    if (part) stops.push(() => part.stop());
  }

  const aside = await serveMetrics(config, metrics);
  if (aside) stops.push(async () => aside.close());
  stops.push(() => drain(server));
  url = await bind(server, config, Boolean(tls));
  if (database.embedded) await tellOwnerUrls(config.data, [url, config.public_url]);
  followTls(config, server.server as never, log);
  return { app, url, stop };
}

/** Requests under way may finish; whoever takes longer than this is cut off. */
const drainMs = 10_000;

async function drain(server: FastifyInstance) {
  const cut = setTimeout(() => server.server.closeAllConnections(), drainMs);
  await server.close().finally(() => clearTimeout(cut));
}

const hostOf = (url: string) => (url ? new URL(url).hostname : 'localhost');

async function bind(server: FastifyInstance, { listen: { host, port } }: Config, tls: boolean): Promise<string> {
  try {
    await server.listen({ host, port });
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
  const at = server.server.address() as AddressInfo;
  return `${tls ? 'https' : 'http'}://${at.family === 'IPv6' ? `[${at.address}]` : at.address}:${at.port}`;
}
