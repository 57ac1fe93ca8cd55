import { inspect } from 'node:util';
import { Command } from 'commander';
import { exitCodes } from './exit-codes.ts';
import { printable } from './printable.ts';

/** The program itself, without commands: the server's adds more than the command line alone. */
export const makeProgram = (version: string): Command =>
  new Command('quarterdeck')
    .description('The control room of a small cloud')
    .version(version)
    .option('--url <url>', 'the server to talk to')
    .option('--token <token>', 'the token to talk with')
    .enablePositionalOptions()
    .showHelpAfterError('(see quarterdeck --help)')
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, 'quarterdeck: ')) })
    .exitOverride()
    .helpCommand(false);

/** Runs what was typed. Ends the process with a sentence and an exit code if it fails. */
export function runProgram(program: Command): void {
  program.parseAsync().catch((error: { code?: unknown; exitCode?: number; message: string }) => {
    if (String(error.code).startsWith('commander.')) process.exit(error.exitCode === 0 ? 0 : exitCodes.usage);
    if (error.exitCode === undefined) console.error(printable(inspect(error)));
    else console.error(`quarterdeck: ${error.message}`);
    process.exit(error.exitCode ?? 1);
  });
}
