import { setEntitlements } from '../areas/organization/index.ts';
import { actingOperator } from '../identity/engine/acting.ts';
import { topics } from '../identity/principal.ts';
import { lockRights } from '../identity/rights-lock.ts';
import { findOrganization } from './organization.ts';
import { type OutputOptions, printJson } from './output.ts';
import type { Session } from './session.ts';

interface Where extends OutputOptions {
  organization?: string;
}

export async function showEntitlements({ db }: Session, options: Where) {
  const org = await db.read((tx) => findOrganization(tx, options.organization));
  show(options, org.slug, org.entitlements);
}

export async function changeEntitlements({ db }: Session, wanted: string[], options: Where) {
  const org = await db.write(async (tx) => {
    const org = await findOrganization(tx, options.organization);
    await lockRights(tx, org.id, { revokes: [topics.org(org.id), topics.roles(org.id)] });
    await setEntitlements(tx, actingOperator(org.id), org, wanted);
    return org;
  });
  show(options, org.slug, wanted);
}

function show(options: OutputOptions, organization: string, entitlements: readonly string[]) {
  if (options.json) printJson({ organization, entitlements });
  else console.log(`${organization} may use: ${entitlements.join(', ') || 'neither email nor uptime'}`);
}
