import { inspect } from 'node:util';
import { Command } from 'commander';
import { readCommands } from '../sdk/commands.ts';
import { commandName } from './command-name.ts';
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
    .showHelpAfterError(`(see ${commandName} --help)`)
    .configureOutput({ outputError: (text, write) => write(withPlaces(text.replace(/^error: /, 'quarterdeck: '))) })
    .exitOverride()
    .helpCommand(false);

/** `quarterdeck members`: an unknown word that stands deeper in the tree is shown where it stands. */
function withPlaces(text: string): string {
  const [, word = ''] = /^quarterdeck: unknown command '([a-z][a-z-]{2,40})'/.exec(text) ?? [];
  const places = word ? placesOf(word) : [];
  if (!places.length) return text;
  const [first] = text.split('\n');
  return `${first}\n(did you mean ${places.map((place) => `${commandName} ${place}`).join(', ')}?)\n`;
}

/** The groups and commands whose last word it is, in singular or plural. */
function placesOf(word: string): string[] {
  const isIt = (each: string | undefined) => each === word || each === `${word}s`;
  const all = readCommands().commands.flatMap(({ words }) =>
    words.flatMap((each, n) => (n > 0 && n < words.length - 1 && isIt(each) ? [words.slice(0, n + 1).join(' ')] : [])),
  );
  return [...new Set(all)].slice(0, 3);
}

/** Runs what was typed. Ends the process with a sentence and an exit code if it fails. */
export function runProgram(program: Command): void {
  program.parseAsync().catch((error: { code?: unknown; exitCode?: number; message: string }) => {
    if (String(error.code).startsWith('commander.')) process.exit(error.exitCode === 0 ? 0 : exitCodes.usage);
    if (error.exitCode === undefined) console.error(printable(inspect(error)));
    else console.error(`quarterdeck: ${error.message}`);
    process.exit(error.exitCode ?? 1);
  });
}
