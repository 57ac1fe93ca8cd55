import { Command } from 'commander';
import { registerServe } from './commands/serve.ts';
import { exitCodes } from './kernel/errors.ts';
import { version } from './kernel/version.ts';

const program = new Command('quarterdeck')
  .description('The control room of a small cloud')
  .version(version)
  .option('--url <url>', 'the server to talk to')
  .option('--token <token>', 'the token to talk with')
  .enablePositionalOptions()
  .showHelpAfterError('(see quarterdeck --help)')
  .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, 'quarterdeck: ')) })
  .exitOverride()
  .helpCommand(false)
  .commandsGroup('Server:');

registerServe(program);
// A server needs none of the four hundred commands beside it.
if (process.argv[2] !== 'serve') await registerOthers();

async function registerOthers(): Promise<void> {
  const [{ registerProbe }, { registerConfig }, { registerAdmin }] = await Promise.all([
    import('./commands/probe.ts'),
    import('./commands/config.ts'),
    import('./admin/index.ts'),
  ]);
  registerProbe(program);
  registerConfig(program);
  registerAdmin(program);
  const [{ registerUser }, { ownServer }, { endWithoutOutput }] = await Promise.all([
    import('../cli/index.ts'),
    import('./commands/own-server.ts'),
    import('../cli/exit.ts'),
  ]);
  registerUser(program, { env: process.env, version, server: ownServer });
  // What admin commands print; a server goes on without its banner.
  program.commands.find((c) => c.name() === 'admin')?.hook('preAction', () => void process.stdout.on('error', endWithoutOutput));
}

program.parseAsync().catch((error: { code?: string; exitCode?: number; message: string }) => {
  if (error.code?.startsWith('commander.')) process.exit(error.exitCode === 0 ? 0 : exitCodes.usage);
  if (error.exitCode === undefined) console.error(error);
  else console.error(`quarterdeck: ${error.message}`);
  process.exit(error.exitCode ?? 1);
});
