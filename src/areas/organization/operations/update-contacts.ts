import { organization } from '../../../../contract/organization.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { lockOrg } from '../../../identity/store/organizations.ts';
import { agreeOnBilling } from '../engine/billing.ts';
import { changeContacts } from '../engine/organization.ts';
import type { OpenOrganization } from '../open.ts';
import { contactsView } from '../views/organization.ts';

export const updateContacts = operation(organization.updateContacts, async ({ ctx, body }, { payment }: OpenOrganization) =>
  agreeOnBilling(ctx.app, payment, ctx.principal.org, body.billingEmail, (agreed) =>
    ctx.write(async (tx) => {
      const org = await lockOrg(tx, ctx.org);
      return ok(contactsView(await changeContacts(tx, ctx, org, body, agreed)));
    }),
  ),
);
