import { organization } from '../../../../contract/organization.ts';
import { ok, operation } from '../../../identity/operation.ts';
import * as store from '../store.ts';
import { contactsView } from '../view.ts';

export const getContacts = operation(organization.getContacts, async ({ ctx }) =>
  ctx.read(async (tx) => ok(contactsView(await store.contacts(tx, ctx.org)))),
);
