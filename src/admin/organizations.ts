import { isSlugTaken, listOrgs, makeOrganization, type OrgOverview } from '../areas/organization/index.ts';
import { conflict } from '../kernel/errors.ts';
import { findOrganization } from './organization.ts';
import { type OutputOptions, printJson, printRows, printTable } from './output.ts';
import type { Session } from './session.ts';

const view = (o: OrgOverview) => ({
  slug: o.slug,
  name: o.name,
  members: o.members,
  owners: o.owners,
  entitlements: o.entitlements,
  payment: o.payment_active ? 'active' : 'inactive',
  created: o.created_at,
  id: o.id,
});

export async function listOrganizations({ db }: Session, options: OutputOptions) {
  printRows(options, (await db.read(listOrgs)).map(view), 'there is no organization yet');
}

export async function showOrganization({ db }: Session, slug: string | undefined, options: OutputOptions) {
  const found = view(await db.read((tx) => findOrganization(tx, slug)));
  if (options.json) return printJson(found);
  const fields = Object.entries(found).map(([field, value]) => ({ field, value }));
  printTable(fields, '');
}

interface New extends OutputOptions {
  slug: string;
  name?: string;
  ownerEmail: string;
}

export async function createOrganization({ db, config }: Session, o: New) {
  const made = await db.write(async (tx) => {
    if (await isSlugTaken(tx, o.slug)) conflict(`there is an organization ${o.slug} already; choose another slug`);
    const { entitlements } = config;
    await makeOrganization(tx, { slug: o.slug, name: o.name ?? o.slug, ownerEmail: o.ownerEmail, entitlements });
    return findOrganization(tx, o.slug);
  });
  if (o.json) return printJson(view(made));
  console.log(`made the organization ${made.slug} (${made.id}) with the owner ${o.ownerEmail}`);
}
