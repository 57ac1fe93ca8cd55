import { Command } from 'commander';
import { endWithoutOutput } from '../cli/exit.ts';
import { registerUser } from '../cli/index.ts';
import { registerAdmin } from './admin/index.ts';
import { registerConfig } from './commands/config.ts';
import { ownServer } from './commands/own-server.ts';
import { registerProbe } from './commands/probe.ts';
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
registerProbe(program);
registerConfig(program);
registerAdmin(program);
registerUser(program, { env: process.env, version, server: ownServer });

// What admin commands print; a server goes on without its banner.
program.commands.find((c) => c.name() === 'admin')?.hook('preAction', () => void process.stdout.on('error', endWithoutOutput));

program.parseAsync().catch((error: { code?: string; exitCode?: number; message: string }) => {
  if (error.code?.startsWith('commander.')) process.exit(error.exitCode === 0 ? 0 : exitCodes.usage);
  if (error.exitCode === undefined) console.error(error);
  else console.error(`quarterdeck: ${error.message}`);
  process.exit(error.exitCode ?? 1);
});
