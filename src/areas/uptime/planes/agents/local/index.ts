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
import type { AgentContext } from '../answers.ts';
import { agentsPlane } from '../handler.ts';
import { asLocal, type Identify } from '../identify.ts';
import { type Prober, startProber } from './child.ts';
import { claimProberDirectory, type ProberDirectory, releaseProberDirectory } from './prober-directory.ts';

const vantage = 'local';
const refreshIntervalMs = 15_000;

/** A server's own prober, and the socket that it connects to. */
interface Local {
  readonly app: App;
  readonly log: Logger;
  readonly server: Server;
  /** The name under which this server stands by. */
  readonly standby: string;
  /** When the prober last sent a request, and the instance that it opened a session for. */
  lastRequestAt: number;
  instance: string | undefined;
  prober: Prober | undefined;
  directory: ProberDirectory | undefined;
  isStopped: boolean;
  refreshing: Promise<void> | undefined;
  mustRefreshAgain: boolean;
}

/**
 * A server with the role prober starts the same program that remote agents run, and serves it over a socket: one path for all results. The
 * program runs only while there are monitors to check from here.
 */
export async function startLocal(desk: AgentContext): Promise<Running> {
  const { app } = desk;
  const local = makeLocal(desk);
  const lookSoon = () => scheduleRefresh(local);
  app.listener.on(assignmentsChannel, lookSoon);
  const timer = setInterval(lookSoon, refreshIntervalMs);
  lookSoon();
  await local.refreshing;
  return {
    stop: async () => {
      local.isStopped = true;
      clearInterval(timer);
      await local.refreshing;
      await stopProber(local);
      await app.db.write((tx) => forgetStandBy(tx, local.standby)).catch(() => {});
      await closeServer(local);
    },
  };
}

function makeLocal(desk: AgentContext): Local {
  const { app } = desk;
  const log = app.log.child({ part: 'local prober' });
  const opens = (instance: string) => {
    local.instance = instance;
  };
  const identify: Identify = () => {
    local.lastRequestAt = performance.now();
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
    lastRequestAt: 0,
    instance: undefined,
    prober: undefined,
    directory: undefined,
    isStopped: false,
    refreshing: undefined,
    mustRefreshAgain: false,
  };
  return local;
}

/** One refresh at a time; a change during one triggers another after it. */
function scheduleRefresh(local: Local): void {
  if (local.isStopped) return;
  local.mustRefreshAgain = true;
  local.refreshing ??= (async () => {
    while (local.mustRefreshAgain && !local.isStopped) {
      local.mustRefreshAgain = false;
      await refreshProber(local).catch((error) =>
        local.log.warn({ err: error }, 'cannot look whether there is something to probe from here; trying again'),
      );
    }
  })().finally(() => (local.refreshing = undefined));
}

async function refreshProber(local: Local): Promise<void> {
  const { app, standby } = local;
  const wanted = await app.db.read((tx) => hasWork(tx, vantage));
  if (local.isStopped) return;
  if (wanted && !local.prober) await start(local);
  if (!wanted && local.prober) await stopProber(local);
  // A prober that should run and sends no requests: this vantage is not available then.
  const silent = local.prober && performance.now() - local.lastRequestAt > goneSeconds * 1000;
  if (!silent && !local.isStopped) await app.db.write((tx) => standBy(tx, standby, vantage, app.version));
}

async function start(local: Local): Promise<void> {
  const { app, server, log } = local;
  local.directory ??= await claimProberDirectory(app, server);
  local.lastRequestAt = performance.now();
  local.prober = startProber(settingsFor(app, local.directory), log);
}

const settingsFor = ({ config, version }: App, directory: ProberDirectory): ProberSettings => ({
  ...directory,
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
  // Should this fail, the other probers take over after its timeout.
  const gone = local.instance;
  if (gone) await app.db.write((tx) => endSession(tx, gone)).catch(() => {});
}

async function closeServer({ server, directory }: Local): Promise<void> {
  if (!directory) return;
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
  await releaseProberDirectory(directory);
}

/** Requests of the server's own prober are not counted; those of remote agents are. */
const uncounted: PlaneMetrics = { of: () => () => {} };
