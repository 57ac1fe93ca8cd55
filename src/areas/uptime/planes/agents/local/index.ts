import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import http, { type IncomingMessage } from 'node:http';
import { goneSeconds } from '../../../../../protocols/agent.ts';
import type { Area } from '../../../../area.ts';
import { hasWork } from '../../../store/assignments.ts';
import { forgetStandBy, leave, standBy } from '../../../store/instances.ts';
import { assignmentsChannel } from '../../../store/monitor-row.ts';
import { agentHandler } from '../handler.ts';
import { asLocal } from '../identify.ts';
import { type Prober, startProber } from './child.ts';
import { leavePlace, takePlace } from './place.ts';

const vantage = 'local';
const lookEveryMs = 15_000;

/**
 * A server that probes starts the same program that runs elsewhere, and speaks with it through a socket: one way for all results.
 * It runs only while there is something to check from here.
 */
export const startLocal: NonNullable<Area['start']> = async (app) => {
  if (!app.config.roles.includes('prober')) return { stop: async () => {} };
  const log = app.log.child({ part: 'local prober' });
  const standby = randomUUID();
  let heardAt = 0;
  let instance: string | undefined;
  const handle = agentHandler(app, (request) => {
    heardAt = performance.now();
    instance = instanceOf(request) ?? instance;
    return asLocal(request);
  });
  const server = http.createServer((request, response) => {
    if (!handle(request, response)) response.writeHead(404).end();
  });

  let prober: Prober | undefined;
  let place: Awaited<ReturnType<typeof takePlace>> | undefined;
  let stopped = false;

  const start = async () => {
    place ??= await takePlace(app, server);
    heardAt = performance.now();
    prober = startProber(
      {
        ...place,
        dnsServers: app.config.dns_servers,
        allowPrivateCidrs: app.config.allow_private_cidrs,
        canaries: app.config.uptime_canaries,
        logLevel: app.config.log_level,
        version: app.version,
        endWithStdin: true,
      },
      log,
    );
  };

  const stopProber = async () => {
    const last = prober;
    prober = undefined;
    await last?.stop();
    const gone = instance;
    if (gone) await app.db.write((tx) => leave(tx, gone)).catch(() => {}); // else it is taken for gone by its silence
  };

  const look = async () => {
    const wanted = await app.db.read((tx) => hasWork(tx, vantage));
    if (stopped) return;
    if (wanted && !prober) await start();
    if (!wanted && prober) await stopProber();
    // One that should run and is not heard of: then this vantage is not available, whatever else works here.
    const silent = prober && performance.now() - heardAt > goneSeconds * 1000;
    if (!silent && !stopped) await app.db.write((tx) => standBy(tx, standby, vantage, app.version));
  };

  let looking: Promise<void> | undefined;
  let again = false;
  const lookSoon = (): void => {
    if (stopped) return;
    again = true;
    looking ??= (async () => {
      while (again && !stopped) {
        again = false;
        await look().catch((error) => log.warn({ err: error }, 'cannot look whether there is something to probe from here; trying again'));
      }
    })().finally(() => (looking = undefined));
  };
  app.listener.on(assignmentsChannel, lookSoon);
  const timer = setInterval(lookSoon, lookEveryMs);
  lookSoon();
  await looking;

  return {
    stop: async () => {
      stopped = true;
      clearInterval(timer);
      await looking;
      await stopProber();
      await app.db.write((tx) => forgetStandBy(tx, standby)).catch(() => {});
      if (!place) return;
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
      await leavePlace(place);
    },
  };
};

const instanceOf = (request: IncomingMessage) => /[?&]instance=([0-9a-f-]{36})/.exec(request.url ?? '')?.[1];
