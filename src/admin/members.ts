import { type Command, Option } from 'commander';
import { type OrganizationRole, organizationRoles } from '../../contract/permissions.ts';
import { organizationStore } from '../areas/organization/index.ts';
import { addMember, changeRole, endMembership, inviteMember } from './membership.ts';
import { email, jsonOption, organizationOption } from './options.ts';
import { organizationNamed } from './organization.ts';
import { printJson, printRows, type Shown } from './output.ts';
import { atDatabase } from './session.ts';

interface Where extends Shown {
  organization?: string;
}

export function memberCommands(admin: Command) {
  const group = admin.command('members').description('who belongs to an organization');
  const roleOption = () => new Option('--role <role>', 'the role in the organization').choices([...organizationRoles]);

  group
    .command('list')
    .description('all members')
    .addOption(organizationOption())
    .addOption(jsonOption())
    .action(
      atDatabase(async ({ db }, options: Where) => {
        const members = await db.read(async (tx) => organizationStore.members(tx, (await organizationNamed(tx, options.organization)).id));
        const shown = members.map((m) => ({ email: m.email, name: m.name, role: m.role, joined: m.joined_at, id: m.user_id }));
        printRows(options, shown, 'nobody belongs to the organization');
      }),
    );

  group
    .command('add')
    .description('invite somebody: prints a link that works once, for 7 days')
    .requiredOption('--email <address>', 'who', email)
    .addOption(roleOption().default('member'))
    .option('--token', 'add them at once and print a token of theirs instead of a link')
    .addOption(organizationOption())
    .addOption(jsonOption())
    .action(
      atDatabase(async ({ db, config }, o: Where & { email: string; role: OrganizationRole; token?: true }) => {
        const made = await db.write((tx) => (o.token ? addMember(tx, o) : inviteMember(tx, o, config)));
        const { explained, secret, kind, ...shown } = made;
        if (o.json) return printJson({ ...shown, [kind]: secret });
        console.error(explained);
        console.log(secret);
      }),
    );

  group
    .command('set-role')
    .description('change a member’s role')
    .argument('<email>', 'whose', email)
    .addArgument(group.createArgument('<role>', 'the new role').choices([...organizationRoles]))
    .addOption(organizationOption())
    .action(
      atDatabase(async ({ db }, who: string, role: OrganizationRole, o: Where) => {
        const from = await db.write((tx) => changeRole(tx, o, who, role));
        console.log(from === role ? `${who} is ${role} already` : `${who} was ${from} and is ${role} now`);
      }),
    );

  group
    .command('remove')
    .description('end a membership, with its grants and tokens')
    .argument('<email>', 'whose', email)
    .addOption(organizationOption())
    .action(
      atDatabase(async ({ db }, who: string, o: Where) => {
        const slug = await db.write((tx) => endMembership(tx, o, who));
        console.log(`${who} does not belong to ${slug} any more`);
      }),
    );
}
