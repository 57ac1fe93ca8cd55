import type { Command } from 'commander';
import { makeOrganization } from '../boot/first-start.ts';
import { conflict } from '../kernel/errors.ts';
import { email, jsonOption, name, slug } from './options.ts';
import { organizationNamed } from './organization.ts';
import { printJson, printRows, printTable, type Shown } from './output.ts';
import { atDatabase } from './session.ts';
import { type OrgRow, organizations, slugTaken } from './store.ts';

const view = (o: OrgRow) => ({
  slug: o.slug,
  name: o.name,
  members: o.members,
  owners: o.owners,
  entitlements: o.entitlements,
  payment: o.payment_active ? 'active' : 'inactive',
  created: o.created_at,
  id: o.id,
});

interface New {
  slug: string;
  name?: string;
  ownerEmail: string;
}

export function organizationCommands(admin: Command) {
  const group = admin.command('organizations').description('the organizations of this installation');

  group
    .command('list')
    .description('all of them')
    .addOption(jsonOption())
    .action(
      atDatabase(async ({ db }, options: Shown) => {
        printRows(options, (await db.read(organizations)).map(view), 'there is no organization yet');
      }),
    );

  group
    .command('show')
    .description('one of them')
    .argument('[slug]', 'which one; may be left out when there is only one')
    .addOption(jsonOption())
    .action(
      atDatabase(async ({ db }, wanted: string | undefined, options: Shown) => {
        const found = view(await db.read((tx) => organizationNamed(tx, wanted)));
        if (options.json) printJson(found);
        else printTable(Object.entries(found).map(([field, value]) => ({ field, value })), '');
      }),
    );

  group
    .command('create')
    .description('make one with its first owner; then mint a token for the owner with `quarterdeck admin token`')
    .requiredOption('--slug <slug>', 'its name in addresses, for good', slug)
    .option('--name <name>', 'its name for people; default: the slug', name)
    .requiredOption('--owner-email <address>', 'the first owner; an account that exists is used', email)
    .addOption(jsonOption())
    .action(
      atDatabase(async ({ db, config }, o: New & Shown) => {
        const made = await db.write(async (tx) => {
          if (await slugTaken(tx, o.slug)) conflict(`there is an organization ${o.slug} already; choose another slug`);
          const { entitlements } = config;
          await makeOrganization(tx, { slug: o.slug, name: o.name ?? o.slug, ownerEmail: o.ownerEmail, entitlements });
          return organizationNamed(tx, o.slug);
        });
        if (o.json) printJson(view(made));
        else console.log(`made the organization ${made.slug} (${made.id}) with the owner ${o.ownerEmail}`);
      }),
    );
}
