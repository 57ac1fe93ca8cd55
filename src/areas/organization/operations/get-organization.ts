import { organization } from '../../../../contract/organization.ts';
import { ok, operation } from '../../../identity/operation.ts';
import * as store from '../store.ts';
import { orgView } from '../view.ts';

export const getOrganization = operation(organization.getOrganization, async ({ ctx }) =>
  ctx.read(async (tx) => ok(orgView(await store.org(tx, ctx.org)))),
);
