import { iam } from '../../../../contract/iam.ts';
import { visibleResources } from '../../../identity/engine/scopes.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { customRoles } from '../../../identity/store/roles.ts';
import type { OpenIam } from '../open.ts';
import { viewAllRoles } from '../views/role.ts';

export const getIamCatalog = operation(iam.getIamCatalog, async ({ ctx }, { resources: sources }: OpenIam) =>
  ctx.read(async (tx) => {
    const resources = await visibleResources(tx, sources, ctx.org, ctx.principal.grants);
    return ok({ roles: viewAllRoles(await customRoles(tx, ctx.org)), resources });
  }),
);
