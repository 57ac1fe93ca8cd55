import { iam } from '../../../../contract/iam.ts';
import { audit } from '../../../identity/audit.ts';
import { created, operation } from '../../../identity/operation.ts';
import { conflict } from '../../../kernel/errors.ts';
import { checkPermissions } from '../../../identity/rules/roles.ts';
import * as store from '../../../identity/store/roles.ts';
import { roleView } from '../views/role.ts';

export const createRole = operation(iam.createRole, async ({ ctx, body }) =>
  ctx.write(async (tx) => {
    const permissions = checkPermissions(ctx.principal.grants, body.permissions);
    const role =
      (await store.insertRole(tx, ctx.org, { name: body.name, description: body.description ?? '', permissions })) ??
      conflict(`a role named ${body.name} exists; choose another name`);
    await audit(tx, ctx, 'iam.role.create', role, { name: role.name, permissions });
    return created(roleView(role), `/iam/roles/${role.id}`);
  }),
);
