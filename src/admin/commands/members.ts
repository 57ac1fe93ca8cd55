import { Argument, type Command, Option } from 'commander';
import { organizationRoles } from '../../../contract/permissions.ts';
import { atDatabase } from './lazily.ts';
import { email, jsonOption, organizationOption } from './options.ts';

const work = () => import('../members.ts');

export function memberCommands(admin: Command) {
  const group = admin.command('members').description('who belongs to an organization');

  group
    .command('list')
    .description('all members')
    .addOption(organizationOption())
    .addOption(jsonOption())
    .action(atDatabase(async () => (await work()).listMembers));

  group
    .command('add')
    .description('invite somebody: prints a link that works once, for 7 days')
    .requiredOption('--email <address>', 'who', email)
    .addOption(new Option('--role <role>', 'the role in the organization').choices([...organizationRoles]).default('member'))
    .option('--token', 'add them at once and print a token of theirs instead of a link')
    .addOption(organizationOption())
    .addOption(jsonOption())
    .action(atDatabase(async () => (await work()).addMember));

  group
    .command('set-role')
    .description('change a member’s role')
    .argument('<email>', 'whose', email)
    .addArgument(new Argument('<role>', 'the new role').choices([...organizationRoles]))
    .addOption(organizationOption())
    .action(atDatabase(async () => (await work()).setRole));

  group
    .command('set-email')
    .description('change a member’s address, in every organization of theirs')
    .argument('<email>', 'whose', email)
    .argument('<new>', 'the new address, which is not asked for a proof', email)
    .addOption(organizationOption())
    .action(atDatabase(async () => (await work()).setEmail));

  group
    .command('remove')
    .description('end a membership, with its grants and tokens')
    .argument('<email>', 'whose', email)
    .addOption(organizationOption())
    .action(atDatabase(async () => (await work()).removeMember));
}
