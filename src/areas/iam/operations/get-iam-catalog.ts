import { iam } from '../../../../contract/iam.ts';
import { visibleResources } from '../../../identity/engine/scopes.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { customRoles } from '../../../identity/store/roles.ts';
import { viewAllRoles } from '../views/role.ts';

export const getIamCatalog = operation(iam.getIamCatalog, async ({ ctx }) =>
  ctx.read(async (tx) => {
    const resources = await visibleResources(tx, ctx.app.ports.resources, ctx.org, ctx.principal.grants);
    return ok({ roles: viewAllRoles(await customRoles(tx, ctx.org)), resources });
  }),
);
