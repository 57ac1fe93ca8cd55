import { organization } from '../../../../contract/organization.ts';
import { ok, operation } from '../../../identity/operation.ts';
import * as store from '../../../identity/store/organizations.ts';
import { contactsView } from '../views/organization.ts';

export const getContacts = operation(organization.getContacts, async ({ ctx }) =>
  ctx.read(async (tx) => ok(contactsView(await store.contacts(tx, ctx.org)))),
);
