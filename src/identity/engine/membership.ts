import type { OrganizationRole } from '../../../contract/permissions.ts';
import { organizationStore as store } from '../../areas/organization/index.ts';
import { audit, operator } from '../audit.ts';
import { topics } from '../principal.ts';
import { mintKey } from '../token-format.ts';
import { dropElsewhere } from '../../kernel/cache.ts';
import type { Config } from '../../kernel/config.ts';
import type { Tx } from '../../kernel/db.ts';
import { conflict } from '../../kernel/errors.ts';
import { mintToken } from '../../admin/mint-token.ts';
import { organizationNamed } from '../../admin/organization.ts';

// The rules of the organization area hold for the operator too, except for what an operator holds: every role.

const invitationDays = 7;
const tokenDays = 90;

export interface Where {
  organization?: string;
}

export interface Newcomer extends Where {
  email: string;
  role: OrganizationRole;
}

/** `secret` is told once: a link or a key. */
export interface Added {
  secret: string;
  kind: 'link' | 'key';
  id: string;
  expires: string;
  explained: string;
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

export async function inviteMember(tx: Tx, o: Newcomer, config: Config): Promise<Added> {
  const org = await locked(tx, o);
  const account = await store.accountByEmail(tx, o.email);
  if (account && (await store.member(tx, org.id, account.id))) conflict(`${o.email} already belongs to ${org.slug}`);
  await store.withdrawFor(tx, org.id, o.email);
  const { key, hash } = mintKey('inv');
  const invitation = await store.insertInvitation(tx, org.id, { email: o.email, role: o.role, hash, days: invitationDays });
  await audit(tx, operator(org.id), 'organization.invitation.create', invitation, { email: o.email, role: o.role });
  const how = account ? 'They have an account here: they accept with a token of it.' : 'It makes their account.';
  return {
    secret: `${urlOf(config)}/join/${key}`,
    kind: 'link',
    id: invitation.id,
    expires: invitation.expires_at,
    explained: `${o.email} joins ${org.slug} as ${o.role} with this link, which works once, until ${invitation.expires_at}. ${how}`,
  };
}

export async function joinMember(tx: Tx, o: Newcomer): Promise<Added> {
  const org = await locked(tx, o);
  const account =
    (await store.accountByEmail(tx, o.email)) ??
    (await store.insertAccount(tx, o.email, o.email.split('@')[0]!)) ??
    conflict('the account was made this moment; try again');
  if (!(await store.insertMember(tx, org.id, account.id, o.role))) conflict(`${o.email} already belongs to ${org.slug}`);
  await store.withdrawFor(tx, org.id, o.email);
  await audit(tx, operator(org.id), 'organization.member.add', account, { email: o.email, role: o.role });
  const { key: secret, id, expires } = await mintToken(tx, { org: org.id, user: account.id, name: 'first token', days: tokenDays });
  await dropElsewhere(tx, topics.user(org.id, account.id));
  const explained = `${o.email} belongs to ${org.slug} as ${o.role} now. Their token, shown only here, until ${expires}:`;
  return { secret, kind: 'key', id, expires, explained };
}

export async function changeRole(tx: Tx, o: Where, who: string, role: OrganizationRole): Promise<OrganizationRole> {
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

export async function endMembership(tx: Tx, o: Where, who: string): Promise<string> {
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
