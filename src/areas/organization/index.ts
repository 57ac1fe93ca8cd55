/*
 * The organization, its members, invitations and contacts, and its audit log. `identity` reads members with each principal; this area changes
 * them, for the API, for the operator's command line (src/admin) and for the first start (src/boot).
 *
 * Actors. Owners and admins invite, change and remove members. A stranger with an invitation link joins at /join (areas/account) or by
 * `acceptInvitation`. The operator makes organizations, adds members without an invitation, and sets entitlements and payment.
 *
 * Data. `identity.account` is a person with an address, `identity.member` their role in one organization, `identity.invitation` the hash of a
 * link. An account is vouched for when the operator made it; links never act for a vouched account that is in use.
 *
 * Flow. Every change of members locks the organization first (`lockOrg`) and reads the member afterwards: there is always an owner, and a
 * link works once. The job `organization.mail-invitation` mails the link where mail leaves. Joining: invitation → account → membership →
 * first token (areas/tokens), or a session in a browser. Removing: off call (areas/oncall) → membership
 * with its grants and tokens → invitations that the member sent.
 *
 * States. Invitation: open → accepted, withdrawn, replaced, or expired after 7 days. Account: member somewhere → without organization (kept
 * 90 days for the one that it left last) → deleted by the task `organization.forget`.
 *
 * A new billing address goes to the payment provider before the transaction that stores it (engine/billing.ts).
 *
 * Crash. Each change is one transaction with its audit row and the notice that drops cached principals. A crash between the provider's
 * answer and the commit leaves the provider with an address that is not stored; the next change of the address sets both.
 */

import { defineArea } from '../area.ts';
import { mailInvitation } from './engine/invitation-mail.ts';
import { organizationOverview } from './engine/ports/overview.ts';
import { organizationSearch } from './engine/ports/search.ts';
import { organizationStory } from './engine/ports/story.ts';
import { type OpenOrganization, openOrganization } from './open.ts';
import { acceptInvitation } from './operations/accept-invitation.ts';
import { createInvitation } from './operations/create-invitation.ts';
import { deleteInvitation } from './operations/delete-invitation.ts';
import { getContacts } from './operations/get-contacts.ts';
import { getInstallation } from './operations/get-installation.ts';
import { getMe } from './operations/get-me.ts';
import { getMyRights } from './operations/get-my-rights.ts';
import { getOrganization } from './operations/get-organization.ts';
import { listAudit } from './operations/list-audit.ts';
import { listInvitations } from './operations/list-invitations.ts';
import { listMembers } from './operations/list-members.ts';
import { removeMember } from './operations/remove-member.ts';
import { updateContacts } from './operations/update-contacts.ts';
import { updateMember } from './operations/update-member.ts';
import { updateOrganization } from './operations/update-organization.ts';
import { deleteExpired } from './tasks.ts';

export { invite, joinInBrowser, lookAtInvitation } from './engine/invitations.ts';
export { addMember, changeMemberRole, endMembership, endUngivableInvitations, endUngivableInvitationsOf } from './engine/membership.ts';
export { makeOrganization, setEntitlements, setPayment } from './engine/organization.ts';
export { hasVouchedMember } from './store/accounts.ts';
export { firstOwner, memberByEmail } from './store/members.ts';
export { hasOrgs, isSlugTaken, listOrgs, lockFirstStart, type OrgOverview } from './store/organizations.ts';

export const organization = defineArea<OpenOrganization>({
  name: 'organization',
  operations: [
    getContacts,
    updateContacts,
    getOrganization,
    updateOrganization,
    listMembers,
    updateMember,
    removeMember,
    listInvitations,
    createInvitation,
    deleteInvitation,
    acceptInvitation,
    listAudit,
    getInstallation,
    getMe,
    getMyRights,
  ],
  overview: [organizationOverview],
  search: [organizationSearch],
  story: [organizationStory],
  jobs: [mailInvitation],
  tasks: [deleteExpired],
  open: openOrganization,
});
