import type { AuditRow, ContactsRow, InvitationRow, MemberRow, OrgRow } from '../../../identity/store/organizations.ts';

export const orgView = (o: OrgRow) => ({ id: o.id, slug: o.slug, name: o.name, createdAt: o.created_at });

export const contactsView = (c: ContactsRow) => ({
  billingEmail: c.billing_email,
  technicalEmail: c.technical_email,
  securityEmail: c.security_email,
});

export const memberView = (m: MemberRow) => ({ userId: m.user_id, email: m.email, name: m.name, role: m.role, joinedAt: m.joined_at });

export const invitationView = (i: InvitationRow) => ({
  id: i.id,
  email: i.email,
  role: i.role,
  createdAt: i.created_at,
  expiresAt: i.expires_at,
});

export const auditView = (a: AuditRow) => ({
  id: a.id,
  at: a.at,
  actor: a.actor,
  actorLabel: a.actor_label,
  ...(a.token_id ? { tokenId: a.token_id } : {}),
  action: a.action,
  target: a.target,
  ...(a.request_id ? { requestId: a.request_id } : {}),
  detail: a.detail,
});
