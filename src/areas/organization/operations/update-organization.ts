import { organization } from '../../../../contract/organization.ts';
import { audit } from '../../../identity/audit.ts';
import { ok, operation } from '../../../identity/operation.ts';
import * as store from '../../../identity/store/organizations.ts';
import { orgView } from '../views/organization.ts';

export const updateOrganization = operation(organization.updateOrganization, async ({ ctx, body }) =>
  ctx.write(async (tx) => {
    const org = await store.lockOrg(tx, ctx.org);
    if (body.name === undefined || body.name === org.name) return ok(orgView(org));
    const renamed = await store.renameOrg(tx, ctx.org, body.name);
    await audit(tx, ctx, 'organization.profile.update', org, { from: org.name, to: body.name });
    return ok(orgView(renamed));
  }),
);
