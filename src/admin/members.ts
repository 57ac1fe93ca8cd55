import { tell } from '../../cli/tell.ts';
import type { OrganizationRole } from '../../contract/permissions.ts';
import { changeAddress } from '../areas/account/index.ts';
import { leaveOncall } from '../areas/oncall/index.ts';
import {
  addMember as addToOrganization,
  changeMemberRole,
  endMembership,
  hasVouchedMember,
  invite,
  memberByEmail,
  type OrgOverview,
} from '../areas/organization/index.ts';
import { mintTokenFor } from '../areas/tokens/index.ts';
import { operator } from '../identity/audit.ts';
import { actingOperator } from '../identity/engine/acting.ts';
import { topics } from '../identity/principal.ts';
import { lockRights } from '../identity/rights-lock.ts';
import { browserUrl } from '../identity/rules/browser-url.ts';
import { allMembers } from '../identity/store/members.ts';
import { lockOrg } from '../identity/store/organizations.ts';
import type { Config } from '../kernel/config.ts';
import type { Tx } from '../kernel/db/index.ts';
import { conflict } from '../kernel/errors.ts';
import { findOrganization } from './organization.ts';
import { type OutputOptions, printJson, printRows } from './output.ts';
import type { Session } from './session.ts';

const tokenDays = 90;

interface Where {
  organization?: string;
}

interface Newcomer extends Where {
  email: string;
  role: OrganizationRole;
}

export async function listMembers({ db }: Session, options: Where & OutputOptions) {
  const members = await db.read(async (tx) => allMembers(tx, (await findOrganization(tx, options.organization)).id));
  const shown = members.map((m) => ({ email: m.email, name: m.name, role: m.role, joined: m.joined_at, id: m.id }));
  printRows(options, shown, 'the organization has no members');
}

export async function addMember({ db, config }: Session, o: Newcomer & OutputOptions & { token?: true }) {
  const { explained, secret, kind, ...shown } = await db.write(async (tx) => {
    const org = await lockOrganization(tx, o);
    return o.token ? addWithToken(tx, org, o) : addByLink(tx, org, o, config);
  });
  if (o.json) return printJson({ ...shown, [kind]: secret });
  tell(explained);
  console.log(secret);
}

export async function setRole({ db }: Session, who: string, role: OrganizationRole, o: Where) {
  const from = await db.write(async (tx) => {
    const { org, member } = await lockMembership(tx, o, who);
    if (member.role !== role) await changeMemberRole(tx, actingOperator(org.id), member, role);
    return member.role;
  });
  console.log(from === role ? `${who} is ${role} already` : `${who} was ${from} and is ${role} now`);
}

export async function setEmail({ db }: Session, who: string, email: string, o: Where) {
  await db.write(async (tx) => {
    const org = await findOrganization(tx, o.organization);
    const member = await memberNamed(tx, org, who);
    await changeAddress(tx, actingOperator(org.id).app, member, email, operator, { isProven: false });
  });
  console.log(`${who} has the address ${email} now`);
}

export async function removeMember({ db }: Session, who: string, o: Where) {
  const { slug, oncall } = await db.write(async (tx) => {
    const { org, member } = await lockMembership(tx, o, who);
    const by = actingOperator(org.id);
    const changed = await leaveOncall(tx, by, member);
    await endMembership(tx, by, member, 'be removed', changed.length ? { oncall: changed } : {});
    return { slug: org.slug, oncall: changed };
  });
  console.log(`${who} does not belong to ${slug} any more`);
  for (const sentence of oncall) console.log(`on-call: ${sentence}`);
}

async function lockOrganization(tx: Tx, o: Where): Promise<OrgOverview> {
  const org = await findOrganization(tx, o.organization);
  await lockOrg(tx, org.id);
  return org;
}

/** Whose rights are about to be taken away: their lock comes before the organization's. */
async function lockMembership(tx: Tx, o: Where, who: string) {
  const org = await findOrganization(tx, o.organization);
  const { id } = await memberNamed(tx, org, who);
  await lockRights(tx, org.id, { revokes: [topics.user(org.id, id)] });
  await lockOrg(tx, org.id);
  return { org, member: await memberNamed(tx, org, who) };
}

const memberNamed = async (tx: Tx, org: OrgOverview, who: string) =>
  (await memberByEmail(tx, org.id, who)) ??
  conflict(`${who} does not belong to ${org.slug}; \`quarterdeck admin members list\` shows who does`);

/** `secret` is told once: a link or a key. */
interface Added {
  secret: string;
  kind: 'link' | 'key';
  id: string;
  expires: string;
  explained: string;
}

async function addByLink(tx: Tx, org: OrgOverview, { email, role }: Newcomer, config: Config): Promise<Added> {
  const { invitation, secret } = await invite(tx, actingOperator(org.id), { email, role }, { place: org.slug, held: undefined });
  const how = (await hasVouchedMember(tx, email))
    ? 'They have an account here: they sign in and open it, or accept with a token of theirs.'
    : 'It makes their account.';
  return {
    secret: `${browserUrl(urlOf(config))}/join/${secret}`,
    kind: 'link',
    id: invitation.id,
    expires: invitation.expires_at,
    explained: `${email} joins ${org.slug} as ${role} with this link, which works once, until ${invitation.expires_at}. ${how}`,
  };
}

async function addWithToken(tx: Tx, org: OrgOverview, { email, role }: Newcomer): Promise<Added> {
  const by = actingOperator(org.id);
  const account = await addToOrganization(tx, by, { email, role }, org.slug);
  const { key: secret, id, expires } = await mintTokenFor(tx, by, { user: account.id, name: 'first token', days: tokenDays });
  const explained = `${email} belongs to ${org.slug} as ${role} now. Their token, shown only here, until ${expires}:`;
  return { secret, kind: 'key', id, expires, explained };
}

/** Where the outside reaches the server, as far as its settings tell. */
const urlOf = ({ public_url, listen: { host, port }, tls_cert }: Config) =>
  public_url || `${tls_cert ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
