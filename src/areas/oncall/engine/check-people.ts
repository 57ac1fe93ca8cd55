import { memberOf, membersOf } from '../../../identity/members.ts';
import type { Tx } from '../../../kernel/db.ts';
import { invalid } from '../../../kernel/errors.ts';
import type { Person } from '../rules/rotation.ts';

/** Everybody named must be a member; an empty label becomes their name. */
export async function checkParticipants(tx: Tx, org: string, wanted: readonly Person[]): Promise<Person[]> {
  const members = await membersOf(tx, org);
  return wanted.map(({ userId, label }, i) => {
    const member =
      members.get(userId) ??
      invalid(`participants.${i}.userId is no member of the organization; GET /api/v1/organization/members lists them`);
    return { userId, label: label.trim() || member.name };
  });
}

export async function checkPerson(tx: Tx, org: string, { userId, label }: Person): Promise<Person> {
  const member =
    (await memberOf(tx, org, userId)) ?? invalid('userId is no member of the organization; GET /api/v1/organization/members lists them');
  return { userId, label: label.trim() || member.name };
}
