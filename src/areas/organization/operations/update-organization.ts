import { organization } from '../../../../contract/organization.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { lockOrg } from '../../../identity/store/organizations.ts';
import { renameOrganization } from '../engine/organization.ts';
import { orgView } from '../views/organization.ts';

export const updateOrganization = operation(organization.updateOrganization, async ({ ctx, body }) =>
  ctx.write(async (tx) => {
    const org = await lockOrg(tx, ctx.org);
    if (body.name === undefined || body.name === org.name) return ok(orgView(org));
    return ok(orgView(await renameOrganization(tx, ctx, org, body.name)));
  }),
);
