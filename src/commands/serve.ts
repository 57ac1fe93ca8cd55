import { flushCompileCache } from 'node:module';
import { relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';
import type { Command } from 'commander';
import { commandName } from '../../cli/command-name.ts';
import type { Parent } from '../boot/parent.ts';
import type { PreparedStart } from '../boot/prepare-start.ts';
import { type Config, readConfig } from '../kernel/config.ts';
import { entryNotUsable } from '../kernel/data/directory.ts';
import { exitCodes, Stop } from '../kernel/errors.ts';
import { reportFault } from '../kernel/faults/faults.ts';
import { handOverEnding, stopEnding } from '../kernel/lifecycle/ending.ts';
import { sayLast } from '../kernel/lifecycle/say-last.ts';
import type { Logger } from '../kernel/log.ts';
import type { LogFile } from '../kernel/log-file.ts';
import { listRoles, type Role, roles } from '../kernel/roles.ts';
import { build } from '../kernel/version.ts';
import type { Running } from '../serve.ts';
import type { TryWorld } from '../try/index.ts';
import { tryDirectory } from './own-server.ts';

export function registerServe(program: Command) {
  program
    .command('serve')
    .description('run the server, its embedded PostgreSQL included')
    .option('--roles <list>', `which parts to run here: ${roles.join(',')}`)
    .option('--try', 'try everything on this machine alone: own DNS, mail inbox, phone and webhook echo; data in ./data-try')
    .action(async (options: { roles?: string; try?: boolean }) => {
      // Loaded only here: a command of the command line loads nothing of the server.
      const { connectParent } = await import('../boot/parent.ts');
      const parent = connectParent(process.env);
      await readAndRun(options, parent).catch((error: Error) => {
        parent.failed(error.message);
        throw error;
      });
    });
}

async function readAndRun(options: { roles?: string; try?: boolean }, parent: Parent): Promise<void> {
  const { config, explained } = readConfig(
    {
      ...(options.try ? { QUARTERDECK_DATA: tryDirectory } : {}),
      ...process.env,
      ...(options.roles === undefined ? {} : { QUARTERDECK_ROLES: options.roles }),
      ...(options.try ? { QUARTERDECK_ACME: '' } : {}), // loopback has no names, and its ports are not the edge's
    },
    process.cwd(),
  );
  if (!options.try) return runServer(config, parent);
  if (parent.before) throw new Stop(exitCodes.refused, '`serve --try` keeps its inbox in memory and is not reloaded; stop it and start it');
  const { openTryWorld } = await import('../try/index.ts');
  await runServer(config, parent, (log) => openTryWorld(config, explained, log, parent.sockets));
}

async function runServer(given: Config, parent: Parent, openWorld?: (log: Logger) => Promise<TryWorld>) {
  parent.doing('loading its program');
  // Loaded only here: every other command starts in a tenth of the time without them.
  const [{ prepareStart: beginStart }, { makeLog }, { noteServer }] = await Promise.all([
    import('../boot/prepare-start.ts'),
    import('../kernel/log.ts'),
    import('../boot/note-server.ts'),
  ]);
  const { makeLogFile } = await import('../kernel/log-file.ts');
  const file = makeLogFile(given.data);
  const log = makeLog(given.log_level, file.beside(2));
  endWithFaults();
  const stops = listenForStops(given, parent, log);
  if (parent.before) await checkAsNext(given, log, parent);
  const { handedOver, endedBy } = await parent.goOn();
  const start = (config: Config, tryWorld?: TryWorld) =>
    finishStart(config, log, beginStart(config, log, { isTry: tryWorld !== undefined }), { file, tryWorld, parent, handedOver });
  const started = openWorld ? startTrying(() => openWorld(log), start) : start(given).then((running) => ({ config: given, running }));
  stops.onStarting(started.then(({ running }) => running));
  const { config, running } = await started;
  const { url, roles, app } = running;
  parent.ready({ data: config.data, isEmbedded: config.database_url === '' });
  const noted = await noteServer(config.data, parent, log);
  stops.onStopped(noted.remove);
  // A server that was killed could not write it down itself.
  if (endedBy) reportFault({ kind: 'uncaught', name: 'signal', error: new Error(`the server was ended by ${endedBy}`) });
  flushCompileCache(); // now, not at the end: a kill -9 must not make every start a first one
  // What a start leaves behind (25 MiB) V8 would keep for later. There when bin/hand-over.mjs started us.
  globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  if (stops.isStopping()) return;
  const claim = roles.has('api') ? await readClaimNotice(app, url) : '';
  banner(url, config, roles, { claim, held: openWorld ? tryNotice(url) : app.hold.isHeld ? await readHeldSentence() : '' });
}

/** Loaded only by a server that is to replace another one: everything is loaded and checked before the other one leaves. */
async function checkAsNext(config: Config, log: Logger, parent: Parent): Promise<void> {
  const [{ checkNext }, { areas }] = await Promise.all([import('../boot/check-next.ts'), import('../areas/index.ts')]);
  await checkNext(config, log, areas, parent);
}

/** For clients that reuse connections: responses close them, so that none is used at the moment when it is cut. */
const handOverNoticeMs = 250;

/** From signals, and from the parent: a stop, or a hand-over to the next server. */
function listenForStops({ stop_notice_seconds }: Config, parent: Parent, log: Logger) {
  const { promise: starting, resolve: onStarting } = Promise.withResolvers<Running>();
  let stoppingSince: number | undefined;
  let removeNote = async () => {};
  let hangUpAt = Number.NEGATIVE_INFINITY;
  starting.catch(() => {}); // the start itself says why it failed

  const stop = (signal: NodeJS.Signals) => {
    // One Ctrl-C may arrive several times, from the terminal and from npm. Asked again later: do not wait for anybody.
    if (stoppingSince !== undefined) return performance.now() - stoppingSince > 1_000 ? process.exit(130) : undefined;
    stoppingSince = performance.now();
    if (parent.isWaiting()) process.exit(); // nothing is open yet
    log.info({ signal }, 'stopping');
    parent.stop();
    // A person at a terminal waits for it, and a server that must not go on stops at once.
    const noticeMs = signal === 'SIGTERM' && !process.exitCode ? stop_notice_seconds * 1_000 : 0;
    // Half started is started: the database must not be left running because the signal came early.
    starting
      .then((running) => running.stop({ ...stopEnding, notice: sleep(noticeMs) }))
      .then(
        // With the code of a `stopWithExitCode`, else 0.
        () => removeNote().finally(() => process.exit()),
        (error) => error instanceof Stop || process.exit(1),
      );
  };
  const handOver = async () => {
    if (stoppingSince !== undefined) return;
    log.info({}, 'the next server is ready; handing over to it');
    const running = await starting;
    const leave = (name: string, value: unknown) => parent.leave(name, value);
    await running.stop({ ...handOverEnding, notice: sleep(handOverNoticeMs), leave });
    await parent.sent();
    if (stoppingSince === undefined) process.exit(0);
  };
  process.on('SIGINT', stop).on('SIGTERM', stop);
  process.on('SIGUSR2', () => {
    if (!parent.reload()) log.warn('SIGUSR2 does nothing here: this server was not started by `quarterdeck serve`');
  });
  // By default node would end, and leave PostgreSQL behind.
  process.on('SIGHUP', () => {
    // From the terminal, and from the parent.
    if (performance.now() - hangUpAt < 1_000) return;
    hangUpAt = performance.now();
    log.warn(`SIGHUP, as of a terminal that closes: the server goes on; \`kill ${parent.pid}\` stops it`);
  });
  parent.onLeave(() => void handOver());
  return {
    onStarting,
    onStopped: (remove: () => Promise<void>) => {
      removeNote = remove;
    },
    isStopping: () => stoppingSince !== undefined,
  };
}

const maxAttempts = 3;

/** Of two servers for trying that start in the same moment and choose the same ports, the one that comes second chooses again. */
async function startTrying(
  openWorld: () => Promise<TryWorld>,
  start: (config: Config, world: TryWorld) => Promise<Running>,
): Promise<{ config: Config; running: Running }> {
  let world = await openWorld();
  for (let attempt = 1; ; attempt++) {
    try {
      return { config: world.config, running: await start(world.config, world) };
    } catch (error) {
      if (!(error instanceof Stop) || error.exitCode !== exitCodes.portTaken || attempt === maxAttempts) throw error;
      const before = portsOf(world.config);
      world = await openWorld();
      // Nothing else to choose: the port is one that the user has set.
      if (portsOf(world.config) === before) throw error;
    }
  }
}

const portsOf = ({ listen, smtp_submission, smtps, smtp_inbound, cluster_listen }: Config) =>
  [listen, smtp_submission, smtps, smtp_inbound, cluster_listen].map(({ port }) => port).join();

/** The state of the process is unknown after such an exception: it ends at once, and its parent starts another. PostgreSQL goes on and is adopted. */
function endWithFaults() {
  process.on('uncaughtException', (error, origin) => {
    reportFault({ kind: 'uncaught', name: origin, error });
    sayLast(`an exception that nothing caught ends this server: ${inspect(error)}`);
    process.exit(exitCodes.fault);
  });
}

interface StartParts {
  file: LogFile;
  tryWorld: TryWorld | undefined;
  parent: Parent;
  handedOver: ReadonlyMap<string, unknown>;
}

/** After a refusal there is no need to load the rest, which holds up everything else for a second: not while somebody waits for an answer. */
async function finishStart(
  config: Config,
  log: Logger,
  beginning: Promise<PreparedStart>,
  { file, tryWorld, parent, handedOver }: StartParts,
): Promise<Running> {
  const prepared = await beginning.catch((error) => {
    throw entryNotUsable(config.data, error);
  });
  file.open(); // not before: a directory that is refused stays as it was
  const [{ serve }, { areas }] = await Promise.all([import('../serve.ts'), import('../areas/index.ts')]);
  return serve({ config, log, areas, prepared, tryWorld, sockets: parent.sockets, handedOver });
}

/** Loaded only here: a command of the command line loads nothing of the server. */
const readHeldSentence = async () => `\n  Held:  ${(await import('../kernel/backup/restore-hold.ts')).heldSentence}\n`;

/** A start that is otherwise well goes on without it. */
const readClaimNotice = async (app: Running['app'], url: string) => {
  const { claimNotice } = await import('../boot/claim-notice.ts');
  const place = { url, commandName, isTerminal: process.stdout.isTTY === true };
  return claimNotice(app, place).catch((error) => {
    app.log.warn({ err: error }, 'the link for the first owner was not made; `quarterdeck admin sign-in-link` makes one');
    return '';
  });
};

const tryNotice = (url: string) => `
  Trying out: nothing leaves this machine.
         ${commandName} try push | mail | page | monitor | cluster
         ${url}/try/   the inbox, the phone and the webhook echo
`;

function banner(url: string, config: Config, running: ReadonlySet<Role>, { claim, held }: { claim: string; held: string }) {
  const at = config.listen.port === 8080 ? '' : ` --url ${url}`;
  const next = config.database_url
    ? `${commandName} admin token   a token to begin with`
    : `${commandName} whoami${at}   who you are here (uses ${relative(process.cwd(), config.data) || '.'}/owner.token)`;
  const forPeople = `  Next:  ${next}
         ${url}/docs   every operation, to read`;
  console.log(`
  Quarterdeck ${build} is ready at ${url}

  Runs:  ${listRoles(running)}${claim}
${running.has('api') ? forPeople : '         the control API is served by processes with the role api'}
  Stop:  Ctrl-C
${held}`);
}
