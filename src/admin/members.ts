import { type Command, Option } from 'commander';
import { type OrganizationRole, organizationRoles } from '../../contract/permissions.ts';
import { organizationStore as store } from '../areas/organization/index.ts';
import { audit, operator } from '../identity/audit.ts';
import { topics } from '../identity/principal.ts';
import { mintKey } from '../identity/token-format.ts';
import { dropElsewhere } from '../kernel/cache.ts';
import type { Config } from '../kernel/config.ts';
import type { Tx } from '../kernel/db.ts';
import { conflict } from '../kernel/errors.ts';
import { mintToken } from './mint-token.ts';
import { email, jsonOption, organizationOption } from './options.ts';
import { organizationNamed } from './organization.ts';
import { printJson, printRows, type Shown } from './output.ts';
import { atDatabase } from './session.ts';

const invitationDays = 7;
const tokenDays = 90;

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
        const members = await db.read(async (tx) => store.members(tx, (await organizationNamed(tx, options.organization)).id));
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
        if (o.json) return printJson(made);
        console.error(made.explained);
        console.log('link' in made ? made.link : made.key);
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

/** The organization locked, as everything that changes its members does first; so there is always a last owner to protect. */
async function locked(tx: Tx, o: Where) {
  const org = await organizationNamed(tx, o.organization);
  await store.lockOrg(tx, org.id);
  return org;
}

async function memberNamed(tx: Tx, org: { id: string; slug: string }, who: string) {
  const account = await store.accountByEmail(tx, who);
  const member = account && (await store.member(tx, org.id, account.id));
  return member ?? conflict(`${who} does not belong to ${org.slug}; \`quarterdeck admin members list\` shows who does`);
}

async function inviteMember(tx: Tx, o: Where & { email: string; role: OrganizationRole }, config: Config) {
  const org = await locked(tx, o);
  const account = await store.accountByEmail(tx, o.email);
  if (account && (await store.member(tx, org.id, account.id))) conflict(`${o.email} already belongs to ${org.slug}`);
  await store.withdrawFor(tx, org.id, o.email);
  const { key, hash } = mintKey('inv');
  const invitation = await store.insertInvitation(tx, org.id, { email: o.email, role: o.role, hash, days: invitationDays });
  await audit(tx, operator(org.id), 'organization.invitation.create', invitation, { email: o.email, role: o.role });
  const how = account ? 'They have an account here: they accept with a token of it.' : 'It makes their account.';
  return {
    link: `${urlOf(config)}/join/${key}`,
    id: invitation.id,
    expires: invitation.expires_at,
    explained: `${o.email} joins ${org.slug} as ${o.role} with this link, which works once, until ${invitation.expires_at}. ${how}`,
  };
}

async function addMember(tx: Tx, o: Where & { email: string; role: OrganizationRole }) {
  const org = await locked(tx, o);
  const account =
    (await store.accountByEmail(tx, o.email)) ??
    (await store.insertAccount(tx, o.email, o.email.split('@')[0]!)) ??
    conflict('the account was made this moment; try again');
  if (!(await store.insertMember(tx, org.id, account.id, o.role))) conflict(`${o.email} already belongs to ${org.slug}`);
  await store.withdrawFor(tx, org.id, o.email);
  await audit(tx, operator(org.id), 'organization.member.add', account, { email: o.email, role: o.role });
  const minted = await mintToken(tx, { org: org.id, user: account.id, name: 'first token', days: tokenDays });
  await dropElsewhere(tx, topics.user(org.id, account.id));
  return { ...minted, explained: `${o.email} belongs to ${org.slug} as ${o.role} now. Their token, shown only here, until ${minted.expires}:` };
}

async function changeRole(tx: Tx, o: Where, who: string, role: OrganizationRole): Promise<OrganizationRole> {
  const org = await locked(tx, o);
  const member = await memberNamed(tx, org, who);
  if (member.role === role) return role;
  if (member.role === 'owner' && (await store.owners(tx, org.id)) === 1)
    conflict('the last owner cannot be demoted; make somebody else an owner first');
  await store.setRole(tx, org.id, member.user_id, role);
  await audit(tx, operator(org.id), 'organization.member.update', { id: member.user_id }, { from: member.role, to: role });
  await dropElsewhere(tx, topics.user(org.id, member.user_id));
  return member.role;
}

async function endMembership(tx: Tx, o: Where, who: string): Promise<string> {
  const org = await locked(tx, o);
  const member = await memberNamed(tx, org, who);
  if (member.role === 'owner' && (await store.owners(tx, org.id)) === 1)
    conflict('the last owner cannot be removed; make somebody else an owner first');
  await store.removeMember(tx, org.id, member.user_id);
  await audit(tx, operator(org.id), 'organization.member.remove', { id: member.user_id }, { email: member.email, role: member.role });
  await dropElsewhere(tx, topics.user(org.id, member.user_id));
  return org.slug;
}

/** Where the outside reaches the server, as far as its settings tell. */
const urlOf = ({ public_url, listen: { host, port }, tls_cert }: Config) =>
  public_url || `${tls_cert ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
