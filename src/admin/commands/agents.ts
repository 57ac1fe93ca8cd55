import { type Command, InvalidArgumentError } from 'commander';
import { atDatabase } from './lazily.ts';
import { jsonOption, name } from './options.ts';

const work = () => import('../agents.ts');

function vantage(text: string): string {
  if (!/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(text))
    throw new InvalidArgumentError('It must have 1 to 63 lower-case letters, digits and inner dashes, such as “tokyo”.');
  return text;
}

export function agentCommands(admin: Command) {
  const group = admin.command('agents').description('probers elsewhere that check monitors for this installation');

  group
    .command('list')
    .description('each of them, and when it last reported')
    .addOption(jsonOption())
    .action(atDatabase(async () => (await work()).listAgents));

  group
    .command('create')
    .description('register one and print its token, which is shown only here; several may share a vantage')
    .requiredOption('--vantage <id>', 'the place that it checks from, as monitors name it', vantage)
    .option('--label <text>', 'the place’s name for people; default: the id', name)
    .option('--name <name>', 'which of several at one vantage; default: the vantage', name)
    .addOption(jsonOption())
    .action(atDatabase(async () => (await work()).createAgent));

  group
    .command('revoke')
    .description('refuse one from now on; monitors keep the vantage')
    .argument('<id>', 'which one')
    .action(atDatabase(async () => (await work()).revokeAgent));
}
