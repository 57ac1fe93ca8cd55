import { iam } from '../../../../contract/iam.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { topics } from '../../../identity/principal.ts';
import { lockOrg } from '../../../identity/store/organizations.ts';
import { notFound } from '../../../kernel/errors.ts';
import { changeRole } from '../engine/roles.ts';
import { refuseBuiltin } from '../rules/roles.ts';
import { lockRole } from '../store/roles.ts';
import { roleView } from '../views/role.ts';

export const updateRole = operation(iam.updateRole, async ({ ctx, params, body }) =>
  ctx.write(
    async (tx) => {
      refuseBuiltin(params.id);
      await lockOrg(tx, ctx.org);
      const role = (await lockRole(tx, ctx.org, params.id)) ?? notFound('role');
      const asked = Object.keys(body).length > 0;
      return ok(roleView(asked ? await changeRole(tx, ctx, role, body) : role));
    },
    { revokes: [topics.roles(ctx.org)] },
  ),
);
