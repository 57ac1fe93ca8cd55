import type { OrganizationRole } from '../../contract/permissions.ts';
import { organizationStore } from '../areas/organization/index.ts';
import { changeRole, endMembership, inviteMember, joinMember, type Newcomer, type Where } from '../identity/engine/membership.ts';
import { organizationNamed } from './organization.ts';
import { printJson, printRows, type Shown } from './output.ts';
import type { Session } from './session.ts';

export async function listMembers({ db }: Session, options: Where & Shown) {
  const members = await db.read(async (tx) => organizationStore.members(tx, (await organizationNamed(tx, options.organization)).id));
  const shown = members.map((m) => ({ email: m.email, name: m.name, role: m.role, joined: m.joined_at, id: m.user_id }));
  printRows(options, shown, 'nobody belongs to the organization');
}

export async function addMember({ db, config }: Session, o: Newcomer & Shown & { token?: true }) {
  const { explained, secret, kind, ...shown } = await db.write((tx) => (o.token ? joinMember(tx, o) : inviteMember(tx, o, config)));
  if (o.json) return printJson({ ...shown, [kind]: secret });
  console.error(explained);
  console.log(secret);
}

export async function setRole({ db }: Session, who: string, role: OrganizationRole, o: Where) {
  const from = await db.write((tx) => changeRole(tx, o, who, role));
  console.log(from === role ? `${who} is ${role} already` : `${who} was ${from} and is ${role} now`);
}

export async function removeMember({ db }: Session, who: string, o: Where) {
  const slug = await db.write((tx) => endMembership(tx, o, who));
  console.log(`${who} does not belong to ${slug} any more`);
}
