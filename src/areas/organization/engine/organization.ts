import { audit, operator } from '../../../identity/audit.ts';
import type { Acting } from '../../../identity/engine/acting.ts';
import { topics } from '../../../identity/principal.ts';
import { dropRights } from '../../../identity/rights-lock.ts';
import type { OrgRow } from '../../../identity/store/organizations.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { insertMember } from '../store/members.ts';
import {
  type ContactsRow,
  contactsOf,
  insertOrg,
  type OrgOverview,
  updateContacts,
  updateEntitlements,
  updateOrgName,
  updatePayment,
} from '../store/organizations.ts';
import { type AgreedBilling, BillingChanged } from './billing.ts';
import { ensureAccount } from './membership.ts';

export interface NewOrganization {
  slug: string;
  name: string;
  ownerEmail: string;
  entitlements: string[];
}

/** An organization and its first owner, whose account is made if there is none. Only the operator makes organizations. */
export async function makeOrganization(tx: Tx, o: NewOrganization): Promise<{ id: string; ownerId: string }> {
  const org = await insertOrg(tx, { slug: o.slug, name: o.name, entitlements: o.entitlements, email: o.ownerEmail });
  const owner = await ensureAccount(tx, org.id, o.ownerEmail);
  await insertMember(tx, org.id, owner.id, 'owner');
  await audit(tx, operator(org.id), 'organization.create', org, { slug: o.slug, owner: o.ownerEmail });
  return { id: org.id, ownerId: owner.id };
}

export async function renameOrganization(tx: Tx, by: Acting, org: OrgRow, name: string): Promise<OrgRow> {
  const renamed = await updateOrgName(tx, org.id, name);
  await audit(tx, by, 'organization.profile.update', org, { from: org.name, to: name });
  return renamed;
}

export interface ContactsChange {
  billingEmail?: string;
  technicalEmail?: string;
  securityEmail?: string;
}

/** Changes the contacts of a locked organization. A new billing address must have been sent to the payment provider by `agreeOnBilling`. */
export async function changeContacts(tx: Tx, by: Acting, org: OrgRow, change: ContactsChange, agreed: AgreedBilling): Promise<ContactsRow> {
  const before = await contactsOf(tx, org.id);
  if (!Object.keys(change).length) return before;
  if (change.billingEmail !== undefined && before.billing_email !== agreed.insteadOf) throw new BillingChanged();

  const after = await updateContacts(tx, org.id, {
    billing_email: change.billingEmail ?? before.billing_email,
    technical_email: change.technicalEmail ?? before.technical_email,
    security_email: change.securityEmail ?? before.security_email,
  });
  await audit(tx, by, 'organization.contacts.update', org, { ...change });
  return after;
}

/** Sets the services that an organization may use. */
export async function setEntitlements(tx: Tx, by: Acting, org: OrgOverview, wanted: readonly string[]): Promise<void> {
  await updateEntitlements(tx, org.id, wanted);
  await audit(tx, by, 'organization.entitlements.set', org, { from: org.entitlements, to: wanted });
  await dropRights(tx, by.app.caches, org.id, topics.org(org.id));
}

/** Sets whether an organization counts as paying, for installations without a payment provider. */
export async function setPayment(tx: Tx, by: Acting, org: OrgOverview, active: boolean): Promise<void> {
  await updatePayment(tx, org.id, active);
  await audit(tx, by, 'organization.payment.set', org, { from: org.payment_active, to: active });
  await by.app.caches.drop(tx, topics.org(org.id));
}
