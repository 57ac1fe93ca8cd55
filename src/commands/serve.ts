import { flushCompileCache } from 'node:module';
import { relative } from 'node:path';
import type { Command } from 'commander';
import type { Begun } from '../boot/begin.ts';
import { type Config, readConfig } from '../kernel/config.ts';
import { partNotUsable } from '../kernel/data/directory.ts';
import { heldSentence } from '../kernel/data/restore-hold.ts';
import { Stop } from '../kernel/errors.ts';
import type { Logger } from '../kernel/log.ts';
import { listRoles, type Role, roles } from '../kernel/roles.ts';
import { version } from '../kernel/version.ts';
import type { Running } from '../serve.ts';

export function registerServe(program: Command) {
  program
    .command('serve')
    .description('run the server, its embedded PostgreSQL included')
    .option('--roles <list>', `which parts to run here: ${roles.join(',')}`)
    .action(async (options: { roles?: string }) => {
      const { config } = readConfig(
        { ...process.env, ...(options.roles === undefined ? {} : { QUARTERDECK_ROLES: options.roles }) },
        process.cwd(),
      );
      await runServer(config);
    });
}

async function runServer(config: Config) {
  // Loaded only here: every other command starts in a tenth of the time without them.
  const [{ beginStart }, { makeLog }] = await Promise.all([import('../boot/begin.ts'), import('../kernel/log.ts')]);
  const log = makeLog(config.log_level);
  const starting = goOn(config, log, beginStart(config, log));

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
        () => process.exit(0),
        (error) => error instanceof Stop || process.exit(1),
      );
  };
  process.on('SIGINT', end).on('SIGTERM', end);

  const { url, roles: running, app } = await starting;
  flushCompileCache(); // now, not at the end: a kill -9 must not make every start a first one
  // What a start leaves behind (25 MiB) V8 would keep for later. There when bin/hand-over.mjs started us.
  globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  if (since === undefined) banner(url, config, running, app.hold.isHeld);
}

/** After a refusal there is no need to load the rest, which holds up everything else for a second: not while somebody waits for an answer. */
async function goOn(config: Config, log: Logger, beginning: Promise<Begun>): Promise<Running> {
  const begun = await beginning.catch((error) => {
    throw partNotUsable(config.data, error);
  });
  const [{ serve }, { areas }] = await Promise.all([import('../serve.ts'), import('../areas/index.ts')]);
  return serve({ config, log, areas, begun });
}

function banner(url: string, config: Config, running: ReadonlySet<Role>, isHeld: boolean) {
  const at = config.listen.port === 8080 ? '' : ` --url ${url}`;
  const next = config.database_url
    ? 'npx quarterdeck admin token   a token to begin with'
    : `npx quarterdeck whoami${at}   who you are here (uses ${relative(process.cwd(), config.data) || '.'}/owner.token)`;
  const forPeople = `  Next:  ${next}
         ${url}/docs   every operation, to read and to try`;
  console.log(`
  Quarterdeck ${version} is ready at ${url}

  Runs:  ${listRoles(running)}
${running.has('api') ? forPeople : '         the control API is served by processes with the role api'}
  Stop:  Ctrl-C
${isHeld ? `\n  Held:  ${heldSentence}\n` : ''}`);
}
