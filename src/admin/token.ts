import { organizationStore } from '../areas/organization/index.ts';
import { conflict } from '../kernel/errors.ts';
import { mintToken } from './mint-token.ts';
import { organizationNamed } from './organization.ts';
import { printJson, type Shown } from './output.ts';
import type { Session } from './session.ts';
import { firstOwner } from './store.ts';

interface Wanted extends Shown {
  organization?: string;
  email?: string;
  name: string;
  days: number;
}

/** The key alone goes to standard output, so that a script can take it from there. */
export async function printToken({ db }: Session, o: Wanted) {
  const { org, member, ...token } = await db.write(async (tx) => {
    const org = await organizationNamed(tx, o.organization);
    await organizationStore.lockOrg(tx, org.id);
    const user = o.email ? (await organizationStore.accountByEmail(tx, o.email))?.id : (await firstOwner(tx, org.id))?.user_id;
    const member =
      (user && (await organizationStore.member(tx, org.id, user))) ||
      conflict(`${o.email} does not belong to ${org.slug}; add them with \`quarterdeck admin members add\``);
    return { org, member, ...(await mintToken(tx, { org: org.id, user: member.user_id, name: o.name, days: o.days })) };
  });
  if (o.json) return printJson({ ...token, organization: org.slug, email: member.email, role: member.role });
  console.error(`a token of ${member.email} (${member.role} of ${org.slug}), until ${token.expires}:`);
  console.log(token.key);
}
