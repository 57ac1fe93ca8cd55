import { inspect } from 'node:util';
import { Command } from 'commander';
import { readCommands } from '../sdk/commands.ts';
import { commandName } from './command-name.ts';
import { exitCodes } from './exit-codes.ts';
import { nearest } from './names/nearest.ts';
import { printable } from './printable.ts';
import { forTerminal, tell } from './tell.ts';

/** The program itself, without commands: the server's adds more than the command line alone. */
export const makeProgram = (version: string): Command =>
  new Command(commandName)
    .description('The control room of a small cloud')
    .version(version)
    .option('--url <url>', 'the server to talk to')
    .option('--token <token>', 'the token to talk with')
    .option('--profile <name>', 'the login to use, of `profile list`')
    .enablePositionalOptions()
    .showHelpAfterError(`(see ${commandName} --help)`)
    .configureOutput({
      outputError: (text, write) => write(forTerminal(withPlaces(withChoices(text.replace(/^error: /, 'quarterdeck: '))), process.stderr)),
    })
    .exitOverride()
    .helpCommand(false);

/** A value that is none of the choices: what there is instead, and the nearest. */
function withChoices(text: string): string {
  const [said = '', choices] = text.trimEnd().replace(/\.$/, '').split('. Allowed choices are ');
  const quoted = said.split("'");
  if (choices === undefined || quoted.length < 5) return text;
  // "command-argument value 'x' is invalid for argument 'name'", "option '-f, --flag <value>' argument 'x' is invalid"
  const isFlag = said.startsWith('quarterdeck: option ');
  const flag = quoted[1]!.split(' ').find((word) => word.startsWith('--')) ?? quoted[1]!;
  const [name, value] = isFlag ? [flag, quoted.slice(3, -1).join("'")] : [quoted.at(-2)!, quoted.slice(1, -3).join("'")];
  const near = nearest(value, choices.split(', '));
  return `quarterdeck: ${name} cannot be '${value}'; it is one of ${choices}${near ? `\n(Did you mean ${near}?)` : ''}\n`;
}

/** `quarterdeck members`: an unknown word that stands deeper in the tree is shown where it stands. */
function withPlaces(text: string): string {
  const [, word = ''] = /^quarterdeck: unknown command '([a-z][a-z-]{2,40})'/.exec(text) ?? [];
  const places = word ? placesOf(word) : [];
  if (!places.length) return text;
  const [first] = text.split('\n');
  return `${first}\n(did you mean ${places.map((place) => `${commandName} ${place}`).join(', ')}?)\n`;
}

/** The groups whose last word it is, in singular or plural, or ends with it. */
function placesOf(word: string): string[] {
  const isIt = (each: string | undefined) => each === word || each === `${word}s` || each?.endsWith(`-${word}`);
  const all = readCommands().commands.flatMap(({ words }) =>
    words.flatMap((each, n) => (n > 0 && n < words.length - 1 && isIt(each) ? [words.slice(0, n + 1).join(' ')] : [])),
  );
  return [...new Set(all)].slice(0, 3);
}

/** As it is typed: `quarterdeck admin jobs list`. */
export const wordsOf = (command: Command): string => (command.parent ? `${wordsOf(command.parent)} ${command.name()}` : commandName);

/** After a mistake each command points to its own help. */
function pointToHelp(command: Command): void {
  command.showHelpAfterError(`(see ${wordsOf(command)} --help)`);
  command.commands.forEach(pointToHelp);
}

/** Runs what was typed. Ends the process with a sentence and an exit code if it fails. */
export function runProgram(program: Command): void {
  pointToHelp(program);
  program.parseAsync().catch((error: { code?: unknown; exitCode?: number; message: string }) => {
    if (String(error.code).startsWith('commander.')) process.exit(error.exitCode === 0 ? 0 : exitCodes.usage);
    if (error.exitCode === undefined) console.error(printable(inspect(error)));
    else tell(`quarterdeck: ${error.message}`);
    process.exit(error.exitCode ?? 1);
  });
}
