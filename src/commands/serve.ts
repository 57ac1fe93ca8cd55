import { writeSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { Socket } from 'node:net';
import { relative } from 'node:path';
import { inspect } from 'node:util';
import type { Command } from 'commander';
import type { PreparedStart } from '../boot/prepare-start.ts';
import { type Config, readConfig } from '../kernel/config.ts';
import { entryNotUsable } from '../kernel/data/directory.ts';
import { exitCodes, Stop } from '../kernel/errors.ts';
import { reportFault } from '../kernel/faults/faults.ts';
import type { Logger } from '../kernel/log.ts';
import type { LogFile } from '../kernel/log-file.ts';
import { listRoles, type Role, roles } from '../kernel/roles.ts';
import { version } from '../kernel/version.ts';
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
      const { config, explained } = readConfig(
        {
          ...(options.try ? { QUARTERDECK_DATA: tryDirectory } : {}),
          ...process.env,
          ...(options.roles === undefined ? {} : { QUARTERDECK_ROLES: options.roles }),
        },
        process.cwd(),
      );
      if (!options.try) return runServer(config);
      const [{ openTryWorld }, { makeLog }] = await Promise.all([import('../try/index.ts'), import('../kernel/log.ts')]);
      const world = await openTryWorld(config, explained, makeLog(config.log_level));
      await runServer(world.config, world);
    });
}

async function runServer(config: Config, tryWorld?: TryWorld) {
  // Loaded only here: every other command starts in a tenth of the time without them.
  const [{ prepareStart: beginStart }, { makeLog }] = await Promise.all([import('../boot/prepare-start.ts'), import('../kernel/log.ts')]);
  const { makeLogFile } = await import('../kernel/log-file.ts');
  const file = makeLogFile(config.data);
  const log = makeLog(config.log_level, file.beside(2));
  endWithFaults();
  const parent = endWithParent();
  const starting = finishStart(config, log, beginStart(config, log, { isTry: tryWorld !== undefined }), { file, tryWorld });

  let since: number | undefined;
  const end = (signal: NodeJS.Signals) => {
    // One Ctrl-C may arrive several times, from the terminal and from npm. Asked again later: do not wait for anybody.
    if (since !== undefined) return performance.now() - since > 1_000 ? process.exit(130) : undefined;
    since = performance.now();
    log.info({ signal }, 'stopping');
    // Half started is started: the database must not be left running because the signal came early.
    starting
      .then((running) => running.stop())
      .then(
        () => process.exit(), // with the code of an `endWith`, else 0
        (error) => error instanceof Stop || process.exit(1),
      );
  };
  // A terminal that closes is a stop too: by default Node would end at once, and leave PostgreSQL behind.
  process.on('SIGINT', end).on('SIGTERM', end).on('SIGHUP', end);

  const endedBy = fromParent('QUARTERDECK_ENDED_BY');
  const { url, roles: running, app } = await starting;
  parent?.write('ready');
  // A server that was killed could not write it down itself.
  if (endedBy) reportFault({ kind: 'uncaught', name: 'signal', error: new Error(`the server was ended by ${endedBy}`) });
  flushCompileCache(); // now, not at the end: a kill -9 must not make every start a first one
  // What a start leaves behind (25 MiB) V8 would keep for later. There when bin/hand-over.mjs started us.
  globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  if (since === undefined) banner(url, config, running, tryWorld ? tryNotice(url) : app.hold.isHeld ? await readHeldSentence() : '');
}

/** What bin/parent.mjs tells us by the environment; no program that we start should take it for its own. */
function fromParent(name: string): string | undefined {
  const value = process.env[name];
  delete process.env[name];
  return value;
}

/**
 * The descriptor is a pipe that closes with the parent process. A killed parent can start no other server, and the next server must not
 * find this one holding the port and the data directory. So this server ends at once, as if killed; all its state survives that. In the
 * other direction the parent learns that the server is ready: an exception before that would only repeat.
 */
function endWithParent(): Socket | undefined {
  const lifeline = Number(fromParent('QUARTERDECK_PARENT'));
  if (!lifeline) return undefined;
  const ended = () => {
    writeSync(2, 'quarterdeck: the parent process is gone, so this server ends too\n');
    process.exit(exitCodes.fault);
  };
  return new Socket({ fd: lifeline }).on('end', ended).on('error', ended).resume().unref();
}

/** The state of the process is unknown after such an exception: it ends at once, and its parent starts another. PostgreSQL goes on and is adopted. */
function endWithFaults() {
  process.on('uncaughtException', (error, origin) => {
    reportFault({ kind: 'uncaught', name: origin, error });
    // The log is written later than we live.
    writeSync(2, `quarterdeck: an exception that nothing caught ends this server: ${inspect(error)}\n`);
    process.exit(exitCodes.fault);
  });
}

/** After a refusal there is no need to load the rest, which holds up everything else for a second: not while somebody waits for an answer. */
async function finishStart(
  config: Config,
  log: Logger,
  beginning: Promise<PreparedStart>,
  { file, tryWorld }: { file: LogFile; tryWorld: TryWorld | undefined },
): Promise<Running> {
  const prepared = await beginning.catch((error) => {
    throw entryNotUsable(config.data, error);
  });
  file.open(); // not before: a directory that is refused stays as it was
  const [{ serve }, { areas }] = await Promise.all([import('../serve.ts'), import('../areas/index.ts')]);
  return serve({ config, log, areas, prepared, tryWorld });
}

/** Loaded only here: a command of the command line loads nothing of the server. */
const readHeldSentence = async () => `\n  Held:  ${(await import('../kernel/backup/restore-hold.ts')).heldSentence}\n`;

/** What a user types here: a clone has a file of that name, an installed package is on the PATH. */
const commandName = import.meta.filename.endsWith('.ts') ? './quarterdeck' : 'quarterdeck';
const tryNotice = (url: string) => `
  Trying out: nothing leaves this machine.
         ${commandName} try push | mail | page | monitor | cluster
         ${url}/try/   the inbox, the phone and the webhook echo
`;

function banner(url: string, config: Config, running: ReadonlySet<Role>, held: string) {
  const at = config.listen.port === 8080 ? '' : ` --url ${url}`;
  const next = config.database_url
    ? `${commandName} admin token   a token to begin with`
    : `${commandName} whoami${at}   who you are here (uses ${relative(process.cwd(), config.data) || '.'}/owner.token)`;
  const forPeople = `  Next:  ${next}
         ${url}/docs   every operation, to read`;
  console.log(`
  Quarterdeck ${version} is ready at ${url}

  Runs:  ${listRoles(running)}
${running.has('api') ? forPeople : '         the control API is served by processes with the role api'}
  Stop:  Ctrl-C
${held}`);
}
