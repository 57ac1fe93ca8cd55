import type { Command } from 'commander';
import { atDatabase } from './lazily.ts';
import { email, jsonOption, name, slug } from './options.ts';

const work = () => import('../organizations.ts');

export function organizationCommands(admin: Command) {
  const group = admin.command('organizations').description('the organizations of this installation');

  group
    .command('list')
    .description('all of them')
    .addOption(jsonOption())
    .action(atDatabase(async () => (await work()).listOrganizations));

  group
    .command('show')
    .description('one of them')
    .argument('[slug]', 'which one; may be left out when there is only one')
    .addOption(jsonOption())
    .action(atDatabase(async () => (await work()).showOrganization));

  group
    .command('create')
    .description('make one with its first owner; then mint a token for the owner with `quarterdeck admin token`')
    .requiredOption('--slug <slug>', 'its name in addresses, for good', slug)
    .option('--name <name>', 'its name for people; default: the slug', name)
    .requiredOption('--owner-email <address>', 'the first owner; an account that exists is used', email)
    .addOption(jsonOption())
    .action(atDatabase(async () => (await work()).createOrganization));
}
