import { iam } from '../../../../contract/iam.ts';
import { noContent, operation } from '../../../identity/operation.ts';
import { topics } from '../../../identity/principal.ts';
import { notFound } from '../../../kernel/errors.ts';
import { dropRole } from '../engine/roles.ts';
import { refuseBuiltin } from '../rules/roles.ts';
import { lockRole } from '../store/roles.ts';

export const deleteRole = operation(iam.deleteRole, async ({ ctx, params }) =>
  ctx.write(
    async (tx) => {
      refuseBuiltin(params.id);
      const role = (await lockRole(tx, ctx.org, params.id)) ?? notFound('role');
      await dropRole(tx, ctx, role);
      return noContent();
    },
    { revokes: [topics.roles(ctx.org)] },
  ),
);
