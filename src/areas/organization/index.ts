import { defineArea } from '../area.ts';
import { openOrganization } from './open.ts';
import { acceptInvitation } from './operations/accept-invitation.ts';
import { createInvitation } from './operations/create-invitation.ts';
import { deleteInvitation } from './operations/delete-invitation.ts';
import { getContacts } from './operations/get-contacts.ts';
import { getMe } from './operations/get-me.ts';
import { getOrganization } from './operations/get-organization.ts';
import { listAudit } from './operations/list-audit.ts';
import { listInvitations } from './operations/list-invitations.ts';
import { listMembers } from './operations/list-members.ts';
import { removeMember } from './operations/remove-member.ts';
import { updateContacts } from './operations/update-contacts.ts';
import { updateMember } from './operations/update-member.ts';
import { updateOrganization } from './operations/update-organization.ts';
import { deleteExpired } from './tasks.ts';

export const organization = defineArea({
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
    getMe,
  ],
  tasks: [deleteExpired],
  open: openOrganization,
});
