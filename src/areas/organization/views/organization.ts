import type { OrgRow } from '../../../identity/store/organizations.ts';
import type { ContactsRow } from '../store/organizations.ts';

export const orgView = (o: OrgRow) => ({ id: o.id, slug: o.slug, name: o.name, createdAt: o.created_at });

export const contactsView = (c: ContactsRow) => ({
  billingEmail: c.billing_email,
  technicalEmail: c.technical_email,
  securityEmail: c.security_email,
});
