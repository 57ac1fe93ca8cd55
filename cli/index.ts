import type { Command as Commander } from 'commander';
import { readCommands } from '../sdk/commands.ts';
import { addCommand } from './command.ts';
import { commandName } from './command-name.ts';
import { registerCompletion } from './completion.ts';
import type { CliContext } from './connect.ts';
import { endWithoutOutput, meanings } from './exit.ts';
import { registerJoin } from './join.ts';
import { registerTry } from './try/index.ts';
import { registerHelp } from './where/help.ts';
import { registerLogs } from './where/logs.ts';
import { registerOpen } from './where/open.ts';
import { registerStatus } from './where/status.ts';
import { registerVersion } from './where/version.ts';
import { registerWhoami } from './whoami.ts';

/** Everything a user of the API can type: `quarterdeck <area> <nouns…> <verb>`, and a few shortcuts. */
export function registerUser(program: Commander, here: CliContext) {
  program.commandsGroup('Start here:');
  registerWhoami(program, here);
  registerJoin(program, here);
  registerOpen(program, here);
  registerLogs(program, here);
  registerVersion(program, here);
  registerHelp(program);
  registerTry(program, here);
  registerCompletion(program, here);

  program.commandsGroup('Areas:');
  const { areas, commands } = readCommands();
  for (const { name, description } of areas) group(program, name).description(description);
  for (const command of commands) {
    const groups = command.words.slice(0, -1);
    addCommand(groups.reduce(group, program), command, here);
  }
  for (const { name } of areas) describe(group(program, name));
  registerStatus(group(program, 'status'), here);
  program.addHelpText('after', closing);
  // `… | head` closes the output of any command; a server goes on without its banner.
  for (const each of program.commands)
    if (!['serve', 'probe'].includes(each.name())) each.hook('preAction', () => void process.stdout.on('error', endWithoutOutput));
}

const closing = `
Tokens: QUARTERDECK_TOKEN is sent to the server of QUARTERDECK_URL and to no other (without it: to the one of this machine);
with --url for another server, give --token too.
Flags: lists are repeated or separated by commas, objects are key=value pairs or JSON, -f file.yaml gives all at once.
Things: by id, by name, by the beginning of an id, or @last for the one that this command line made last.
Exit codes: ${Object.entries(meanings)
  .map(([code, meaning]) => `${code} ${meaning}`)
  .join(' · ')}.`;

const group = (parent: Commander, name: string): Commander => parent.commands.find((c) => c.name() === name) ?? makeGroup(parent, name);

function makeGroup(parent: Commander, name: string): Commander {
  const made = parent.command(name).helpCommand(false);
  return made.showHelpAfterError(`(see ${wordsOf(made)} --help)`);
}

const wordsOf = (command: Commander): string => (command.parent ? `${wordsOf(command.parent)} ${command.name()}` : commandName);

/** A group has no words of its own in the contract: its verbs say what it is. */
function describe(parent: Commander) {
  for (const child of parent.commands) {
    if (!child.description()) child.description(child.commands.map((c) => c.name()).join(', '));
    describe(child);
  }
}
