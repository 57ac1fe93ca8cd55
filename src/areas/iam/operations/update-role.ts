import { iam } from '../../../../contract/iam.ts';
import { audit } from '../../../identity/audit.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { topics } from '../../../identity/principal.ts';
import { conflict, notFound } from '../../../kernel/errors.ts';
import { checkPermissions, refuseBuiltin } from '../../../identity/rules/roles.ts';
import * as store from '../../../identity/store/roles.ts';
import { roleView } from '../views/role.ts';

export const updateRole = operation(iam.updateRole, async ({ ctx, params, body }) =>
  ctx.write(async (tx) => {
    refuseBuiltin(params.id);
    const role = (await store.lockRole(tx, ctx.org, params.id)) ?? notFound('role');
    if (!Object.keys(body).length) return ok(roleView(role));
    checkPermissions(ctx.principal.grants, role.permissions);
    const permissions = body.permissions ? checkPermissions(ctx.principal.grants, body.permissions) : role.permissions;
    const name = body.name ?? role.name;
    const wanted = { id: role.id, name, description: body.description ?? role.description, permissions };
    const changed = (await store.updateRole(tx, ctx.org, wanted)) ?? conflict(`a role named ${name} exists; choose another name`);

    await audit(tx, ctx, 'iam.role.update', role, body);
    await ctx.app.caches.drop(tx, topics.org(ctx.org));
    return ok(roleView(changed));
  }),
);
