import { makeLink } from '../areas/account/index.ts';
import { firstOwner, memberByEmail } from '../areas/organization/index.ts';
import { audit, operator } from '../identity/audit.ts';
import { conflict } from '../kernel/errors.ts';
import { findOrganization } from './organization.ts';
import { type OutputOptions, printJson } from './output.ts';
import type { Session } from './session.ts';

interface Wanted extends OutputOptions {
  organization?: string;
}

/** The link alone goes to standard output, so that a script can take it from there. */
export async function printSignInLink({ db, config }: Session, email: string | undefined, o: Wanted) {
  const { member, secret, expiresAt } = await db.write(async (tx) => {
    const org = await findOrganization(tx, o.organization);
    const member =
      (email ? await memberByEmail(tx, org.id, email) : await firstOwner(tx, org.id)) ??
      conflict(`${email} does not belong to ${org.slug}; add them with \`quarterdeck admin members add\``);
    await audit(tx, operator(org.id), 'account.link.create', member, { email: member.email });
    return { member, ...(await makeLink(tx, member.id, 'operator')) };
  });
  const { listen, public_url, tls_cert } = config;
  const url = `${public_url || `${tls_cert ? 'https' : 'http'}://localhost:${listen.port}`}/sign-in/link/${secret}`;
  if (o.json) return printJson({ url, email: member.email, expiresAt });
  console.error(`signs ${member.email} in, once, until ${expiresAt}:`);
  console.log(url);
}
