import { organization } from '../../../../contract/organization.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { contactsOf } from '../store/organizations.ts';
import { contactsView } from '../views/organization.ts';

export const getContacts = operation(organization.getContacts, async ({ ctx }) =>
  ctx.read(async (tx) => ok(contactsView(await contactsOf(tx, ctx.org)))),
);
