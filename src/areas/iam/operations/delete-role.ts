import { iam } from '../../../../contract/iam.ts';
import { audit } from '../../../identity/audit.ts';
import { noContent, operation } from '../../../identity/operation.ts';
import { topics } from '../../../identity/principal.ts';
import { conflict, notFound } from '../../../kernel/errors.ts';
import { checkPermissions, refuseBuiltin } from '../../../identity/rules/roles.ts';
import * as store from '../../../identity/store/roles.ts';

export const deleteRole = operation(iam.deleteRole, async ({ ctx, params }) =>
  ctx.write(async (tx) => {
    refuseBuiltin(params.id);
    const role = (await store.lockRole(tx, ctx.org, params.id)) ?? notFound('role');
    checkPermissions(ctx.principal.grants, role.permissions);
    const holders = await store.holdersOf(tx, ctx.org, role.id);
    if (holders)
      conflict(`the role ${role.name} is still granted ${holders === 1 ? 'once' : `${holders} times`}; take those grants away first`);

    await store.deleteRole(tx, ctx.org, role.id);
    await audit(tx, ctx, 'iam.role.delete', role, { name: role.name });
    await ctx.app.caches.drop(tx, topics.org(ctx.org));
    return noContent();
  }),
);
