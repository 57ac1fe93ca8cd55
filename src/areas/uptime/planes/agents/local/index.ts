import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import http, { type Server } from 'node:http';
import type { App } from '../../../../../kernel/app.ts';
import { mountPlane, type PlaneMetrics } from '../../../../../kernel/http/plane.ts';
import type { Logger } from '../../../../../kernel/log.ts';
import { goneSeconds } from '../../../../../protocols/agent.ts';
import type { ProberSettings } from '../../../../../protocols/prober-settings.ts';
import type { Running } from '../../../../area.ts';
import { endSession, forgetStandBy, standBy } from '../../../engine/sessions.ts';
import { hasWork } from '../../../store/assignments.ts';
import { assignmentsChannel } from '../../../store/monitor-row.ts';
import type { Desk } from '../answers.ts';
import { agentsPlane } from '../handler.ts';
import { asLocal, type Identify } from '../identify.ts';
import { type Prober, startProber } from './child.ts';
import { leavePlace, type Place, takePlace } from './place.ts';

const vantage = 'local';
const lookEveryMs = 15_000;

/** A server's own prober, and the socket that it speaks through. */
interface Local {
  readonly app: App;
  readonly log: Logger;
  readonly server: Server;
  /** The name under which this server stands by. */
  readonly standby: string;
  /** When the prober last asked anything, and the instance that it opened a session for. */
  heardAt: number;
  instance: string | undefined;
  prober: Prober | undefined;
  place: Place | undefined;
  isStopped: boolean;
  looking: Promise<void> | undefined;
  mustLookAgain: boolean;
}

/**
 * A server that probes starts the same program that runs elsewhere, and speaks with it through a socket: one way for all results.
 * It runs only while there is something to check from here.
 */
export async function startLocal(desk: Desk): Promise<Running> {
  const { app } = desk;
  const local = makeLocal(desk);
  const lookSoon = () => lookSoonAt(local);
  app.listener.on(assignmentsChannel, lookSoon);
  const timer = setInterval(lookSoon, lookEveryMs);
  lookSoon();
  await local.looking;
  return {
    stop: async () => {
      local.isStopped = true;
      clearInterval(timer);
      await local.looking;
      await stopProber(local);
      await app.db.write((tx) => forgetStandBy(tx, local.standby)).catch(() => {});
      await closePlace(local);
    },
  };
}

function makeLocal(desk: Desk): Local {
  const { app } = desk;
  const log = app.log.child({ part: 'local prober' });
  const opens = (instance: string) => {
    local.instance = instance;
  };
  const identify: Identify = () => {
    local.heardAt = performance.now();
    return { ...asLocal(), opens };
  };
  const plane = agentsPlane(desk, 'prober', () => identify);
  const handle = mountPlane(plane, { log, roles: new Set(['prober']), counted: uncounted });
  const local: Local = {
    app,
    log,
    server: http.createServer((request, response) => {
      if (!handle(request, response)) response.writeHead(404).end();
    }),
    standby: randomUUID(),
    heardAt: 0,
    instance: undefined,
    prober: undefined,
    place: undefined,
    isStopped: false,
    looking: undefined,
    mustLookAgain: false,
  };
  return local;
}

/** One look at a time; what changes during one is looked at again after it. */
function lookSoonAt(local: Local): void {
  if (local.isStopped) return;
  local.mustLookAgain = true;
  local.looking ??= (async () => {
    while (local.mustLookAgain && !local.isStopped) {
      local.mustLookAgain = false;
      await look(local).catch((error) =>
        local.log.warn({ err: error }, 'cannot look whether there is something to probe from here; trying again'),
      );
    }
  })().finally(() => (local.looking = undefined));
}

async function look(local: Local): Promise<void> {
  const { app, standby } = local;
  const wanted = await app.db.read((tx) => hasWork(tx, vantage));
  if (local.isStopped) return;
  if (wanted && !local.prober) await start(local);
  if (!wanted && local.prober) await stopProber(local);
  // One that should run and is not heard of: then this vantage is not available, whatever else works here.
  const silent = local.prober && performance.now() - local.heardAt > goneSeconds * 1000;
  if (!silent && !local.isStopped) await app.db.write((tx) => standBy(tx, standby, vantage, app.version));
}

async function start(local: Local): Promise<void> {
  const { app, server, log } = local;
  local.place ??= await takePlace(app, server);
  local.heardAt = performance.now();
  local.prober = startProber(settingsFor(app, local.place), log);
}

const settingsFor = ({ config, version }: App, place: Place): ProberSettings => ({
  ...place,
  dnsServers: config.dns_servers,
  allowPrivateCidrs: config.allow_private_cidrs,
  canaries: config.uptime_canaries,
  logLevel: config.log_level,
  version,
  endWithStdin: true,
});

async function stopProber(local: Local): Promise<void> {
  const { app, prober } = local;
  local.prober = undefined;
  await prober?.stop();
  // Should this fail, the others take it for gone by its silence.
  const gone = local.instance;
  if (gone) await app.db.write((tx) => endSession(tx, gone)).catch(() => {});
}

async function closePlace({ server, place }: Local): Promise<void> {
  if (!place) return;
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
  await leavePlace(place);
}

/** Answers to the server's own prober are no news: those to agents elsewhere are counted. */
const uncounted: PlaneMetrics = { of: () => () => {} };
