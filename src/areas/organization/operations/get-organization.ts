import { organization } from '../../../../contract/organization.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { findOrg } from '../../../identity/store/organizations.ts';
import { orgView } from '../views/organization.ts';

export const getOrganization = operation(organization.getOrganization, async ({ ctx }) =>
  ctx.read(async (tx) => ok(orgView(await findOrg(tx, ctx.org)))),
);
