import type { Member } from '../../../identity/store/members.ts';
import type { InvitationRow } from '../store/invitations.ts';

export const memberView = (m: Member) => ({ userId: m.id, email: m.email, name: m.name, role: m.role, joinedAt: m.joined_at });

export const invitationView = (i: InvitationRow) => ({
  id: i.id,
  email: i.email,
  role: i.role,
  invitedBy: i.invited_by,
  createdAt: i.created_at,
  expiresAt: i.expires_at,
});
