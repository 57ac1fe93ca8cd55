import { iam } from '../../../../contract/iam.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { customRoles, visibleResources } from '../../../identity/engine/scopes.ts';
import { allRoles } from '../views/role.ts';

export const getIamCatalog = operation(iam.getIamCatalog, async ({ ctx }) =>
  ctx.read(async (tx) =>
    ok({ roles: allRoles(await customRoles(tx, ctx.org)), resources: await visibleResources(tx, ctx.app, ctx.org, ctx.principal.grants) }),
  ),
);
