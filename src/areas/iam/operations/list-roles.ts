import { iam } from '../../../../contract/iam.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { customRoles } from '../../../identity/engine/scopes.ts';
import { allRoles } from '../views/role.ts';

export const listRoles = operation(iam.listRoles, async ({ ctx }) =>
  ctx.read(async (tx) => ok({ roles: allRoles(await customRoles(tx, ctx.org)) })),
);
