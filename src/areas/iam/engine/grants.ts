import { organizationRoles } from '../../../../contract/permissions.ts';
import { audit } from '../../../identity/audit.ts';
import type { ActingByToken } from '../../../identity/engine/acting.ts';
import { checkRoleUses } from '../../../identity/engine/scopes.ts';
import { topics } from '../../../identity/principal.ts';
import type { ResourceSource } from '../../../identity/resources.ts';
import { dropRights } from '../../../identity/rights-lock.ts';
import { atomsOf, covers, grantsOf } from '../../../identity/rules/grants.ts';
import { lockMember } from '../../../identity/store/members.ts';
import { customRoles } from '../../../identity/store/roles.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { conflict, forbidden, invalid } from '../../../kernel/errors.ts';
import { endUngivableInvitations } from '../../organization/index.ts';
import { limits } from '../rules/limits.ts';
import { countGrantsOfMember, deleteGrant, type GrantRow, insertGrant } from '../store/grants.ts';
import { shareRole } from '../store/roles.ts';

export interface WantedGrant {
  subject: string;
  role: string;
  resourceIds?: string[];
}

/** Gives a member a role besides their role in the organization, perhaps on some resources only. */
export async function grantRole(tx: Tx, by: ActingByToken, wanted: WantedGrant, sources: readonly ResourceSource[]): Promise<GrantRow> {
  const { subject, role } = wanted;
  if ((organizationRoles as readonly string[]).includes(role)) {
    invalid(`${role} is a member’s place in the organization, not a grant; change it with PATCH /api/v1/organization/members/{userId}`);
  }
  if (!(await lockMember(tx, by.org, subject)))
    invalid('subject is not a member of the organization; GET /api/v1/organization/members lists them');
  if ((await countGrantsOfMember(tx, by.org, subject)) >= limits.grants)
    conflict(`the member holds ${limits.grants} grants, the most there can be; take some away, or put what they give into a role`);
  await shareRole(tx, by.org, role);
  const [use] = await checkRoleUses(tx, by, [wanted], sources);
  const resourceIds = use!.resourceIds.sort();
  const grant = (await insertGrant(tx, by.org, { subject, role, resourceIds })) ?? conflict('the member already holds this role this way');

  await audit(tx, by, 'iam.grant.create', grant, { subject, role, resourceIds });
  await dropRights(tx, by.app.caches, by.org, topics.user(by.org, subject));
  return grant;
}

/**
 * Withdraws a grant, which is locked after its organization. The caller must hold everything that the grant gives. The subject's open
 * invitations to roles that the subject may no longer give end.
 */
export async function withdrawGrant(tx: Tx, by: ActingByToken, grant: GrantRow): Promise<void> {
  const held = grantsOf([{ role: grant.role, resourceIds: grant.resource_ids }], atomsOf(await customRoles(tx, by.org)));
  if (!covers(by.principal.grants, held)) forbidden(`you do not hold everything that ${grant.role} gives, so you cannot take it away`);

  await deleteGrant(tx, by.org, grant.id);
  await endUngivableInvitations(tx, by, grant.user_id);
  await audit(tx, by, 'iam.grant.delete', grant, { subject: grant.user_id, role: grant.role });
  await dropRights(tx, by.app.caches, by.org, topics.user(by.org, grant.user_id));
}
