import { iam } from '../../../../contract/iam.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { customRoles } from '../../../identity/store/roles.ts';
import { viewAllRoles } from '../views/role.ts';

export const listRoles = operation(iam.listRoles, async ({ ctx }) =>
  ctx.read(async (tx) => ok({ roles: viewAllRoles(await customRoles(tx, ctx.org)) })),
);
