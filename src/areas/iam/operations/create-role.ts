import { iam } from '../../../../contract/iam.ts';
import { created, operation } from '../../../identity/operation.ts';
import { defineRole } from '../engine/roles.ts';
import { roleView } from '../views/role.ts';

export const createRole = operation(iam.createRole, async ({ ctx, body }) =>
  ctx.write(async (tx) => {
    const role = await defineRole(tx, ctx, { ...body, description: body.description ?? '' });
    return created(roleView(role), `/iam/roles/${role.id}`);
  }),
);
