import { tell } from '../../cli/tell.ts';
import { firstOwner, memberByEmail } from '../areas/organization/index.ts';
import { mintTokenFor } from '../areas/tokens/index.ts';
import { actingOperator } from '../identity/engine/acting.ts';
import { lockOrg } from '../identity/store/organizations.ts';
import { conflict } from '../kernel/errors.ts';
import { findOrganization } from './organization.ts';
import { type OutputOptions, printJson } from './output.ts';
import type { Session } from './session.ts';

interface Wanted extends OutputOptions {
  organization?: string;
  email?: string;
  name: string;
  days: number;
}

/** The key alone goes to standard output, so that a script can take it from there. */
export async function printToken({ db }: Session, o: Wanted) {
  const { org, member, ...token } = await db.write(async (tx) => {
    const org = await findOrganization(tx, o.organization);
    await lockOrg(tx, org.id);
    const member =
      (o.email ? await memberByEmail(tx, org.id, o.email) : await firstOwner(tx, org.id)) ??
      conflict(`${o.email} does not belong to ${org.slug}; add them with \`quarterdeck admin members add\``);
    return { org, member, ...(await mintTokenFor(tx, actingOperator(org.id), { user: member.id, name: o.name, days: o.days })) };
  });
  if (o.json) return printJson({ ...token, organization: org.slug, email: member.email, role: member.role });
  tell(`a token of ${member.email} (${member.role} of ${org.slug}), until ${token.expires}:`);
  console.log(token.key);
}
