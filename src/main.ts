import { flushCompileCache } from 'node:module';
import { Command } from 'commander';
import { areas } from './areas/index.ts';
import { type Config, readConfig, roles } from './kernel/config.ts';
import { exitCodes, Stop } from './kernel/errors.ts';
import { makeLog } from './kernel/log.ts';
import { serve, version } from './serve.ts';

const program = new Command('quarterdeck')
  .description('The control room of a small cloud')
  .version(version)
  .showHelpAfterError('(see quarterdeck --help)')
  .exitOverride();

program
  .command('serve')
  .description('run the server, its embedded PostgreSQL included')
  .option('--roles <list>', `which parts to run here: ${roles.join(',')}`)
  .action(async (options: { roles?: string }) => {
    const { config } = readConfig({ ...process.env, ...(options.roles ? { QUARTERDECK_ROLES: options.roles } : {}) }, process.cwd());
    await runServer(config);
  });

program
  .command('config')
  .description('show every setting: its value, where it comes from, and what it means')
  .option('--json', 'as JSON')
  .action((options: { json?: boolean }) => {
    const { explained } = readConfig(process.env, process.cwd());
    if (options.json) return void console.log(JSON.stringify(explained, null, 2));
    for (const { env, value, origin, meaning } of explained) console.log(`${env} = ${show(value)}  (${origin})\n    ${meaning}`);
  });

const show = (value: unknown) => (typeof value === 'string' ? value || '(none)' : value === undefined ? '(none)' : JSON.stringify(value));

async function runServer(config: Config) {
  const log = makeLog(config.log_level);
  const starting = serve({ config, log, areas });

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

  const { url } = await starting;
  flushCompileCache(); // now, not at the end: a kill -9 must not make every start a first one
  if (since === undefined) banner(url, config);
}

function banner(url: string, config: Config) {
  const beside = config.listen.port === 8080 && !config.database_url;
  console.log(`
  Quarterdeck ${version} is ready at ${url}

  Next:  npx quarterdeck whoami        ${beside ? 'who you are here (uses data/owner.token)' : 'with QUARTERDECK_URL and QUARTERDECK_TOKEN set'}
         ${url}/docs     every operation, to read and to try
  Stop:  Ctrl-C
`);
}

program.parseAsync().catch((error: unknown) => {
  if (error instanceof Stop) {
    console.error(`quarterdeck: ${error.message}`);
    process.exit(error.exitCode);
  }
  const { code, exitCode } = error as { code?: string; exitCode?: number };
  if (code?.startsWith('commander.')) process.exit(exitCode === 0 ? 0 : exitCodes.usage);
  console.error(error);
  process.exit(1);
});
