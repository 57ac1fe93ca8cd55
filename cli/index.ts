import type { Command as Commander } from 'commander';
import { readCommands } from '../sdk/commands.ts';
import { addCommand } from './command.ts';
import { registerCompletion } from './completion.ts';
import type { CliContext } from './connect.ts';
import { endWithoutOutput, meanings } from './exit.ts';
import { registerJoin } from './join.ts';
import { registerProfile } from './profiles/commands.ts';
import { registerLogin } from './profiles/login.ts';
import { registerLogout } from './profiles/logout.ts';
import { wordsOf } from './program.ts';
import { wrapLines } from './tell.ts';
import { registerTry } from './try/index.ts';
import { registerHelp } from './where/help.ts';
import { registerLogs } from './where/logs.ts';
import { registerOpen } from './where/open.ts';
import { registerStatus } from './where/status.ts';
import { registerVersion } from './where/version.ts';
import { registerWhoami } from './whoami.ts';

/**
 * Everything a user of the API can type: `quarterdeck <area> <nouns…> <verb>`, and a few shortcuts. Of the four hundred commands only
 * those of areas that stand among the typed words, where they are given: to make all of them was a third of each start.
 */
export function registerUser(program: Commander, here: CliContext, typed?: string[]) {
  program.commandsGroup('Start here:');
  registerLogin(program, here);
  registerLogout(program, here);
  registerProfile(program, here);
  registerWhoami(program, here);
  registerJoin(program, here);
  registerOpen(program, here);
  registerLogs(program, here);
  registerVersion(program, here);
  registerHelp(program);
  registerTry(program, here);
  registerCompletion(program, here);

  const { areas, commands } = readCommands();
  program.commandsGroup('Over all areas:');
  for (const command of commands) if (command.words.length === 1) addCommand(program, command, here);
  program.commandsGroup('Areas:');
  const grouped = commands.filter(({ words }) => words.length > 1);
  const groups = areas.filter(({ name }) => grouped.some(({ words }) => words[0] === name));
  for (const { name, description } of groups) group(program, name).description(description);
  // The script for completion names every command.
  const isWanted = ([area = '']: string[]) => !typed || typed.includes(area) || typed.includes('completion');
  for (const command of grouped) {
    if (!isWanted(command.words)) continue;
    addCommand(command.words.slice(0, -1).reduce(group, program), command, here);
  }
  for (const { name } of groups) describe(group(program, name));
  registerStatus(group(program, 'status'), here);
  program.addHelpText('after', () => wrapLines(closing, process.stdout.columns || 80));
  // `… | head` closes the output of any command; a server goes on without its banner.
  for (const each of program.commands)
    if (!['serve', 'probe'].includes(each.name())) each.hook('preAction', () => void process.stdout.on('error', endWithoutOutput));
}

const closing = `
Login: \`login <url>\` keeps a token of yours; \`profile use\` chooses among several logins; in scripts QUARTERDECK_URL and QUARTERDECK_TOKEN.
Tokens: QUARTERDECK_TOKEN is sent to the server of QUARTERDECK_URL and to no other (without it: to the one of this machine); with --url for another server, give --token too.
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

/** A group has no words of its own in the contract: its verbs say what it is. */
function describe(parent: Commander) {
  for (const child of parent.commands) {
    if (!child.description()) child.description(child.commands.map((c) => c.name()).join(', '));
    describe(child);
  }
}
