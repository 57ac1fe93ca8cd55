import { organization } from '../../../../contract/organization.ts';
import { audit } from '../../../identity/audit.ts';
import { ok, operation } from '../../../identity/operation.ts';
import * as store from '../../../identity/store/organizations.ts';
import { contactsView } from '../views/organization.ts';

export const updateContacts = operation(organization.updateContacts, async ({ ctx, body }) =>
  ctx.write(async (tx) => {
    const org = await store.lockOrg(tx, ctx.org);
    const before = await store.contacts(tx, ctx.org);
    if (!Object.keys(body).length) return ok(contactsView(before));
    // The provider is asked first and under the lock: it may refuse, and what we store is then what it knows.
    if (body.billingEmail && body.billingEmail !== before.billing_email)
      await ctx.app.ports.payment.setBillingEmail(org, body.billingEmail);

    const after = await store.updateContacts(tx, ctx.org, {
      billing_email: body.billingEmail ?? before.billing_email,
      technical_email: body.technicalEmail ?? before.technical_email,
      security_email: body.securityEmail ?? before.security_email,
    });
    await audit(tx, ctx, 'organization.contacts.update', org, body);
    return ok(contactsView(after));
  }),
);
