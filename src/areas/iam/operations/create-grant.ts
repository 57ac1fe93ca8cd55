import { iam } from '../../../../contract/iam.ts';
import { organizationRoles } from '../../../../contract/permissions.ts';
import { audit } from '../../../identity/audit.ts';
import { created, operation } from '../../../identity/operation.ts';
import { topics } from '../../../identity/principal.ts';
import { checkRoleUses, customRoles } from '../../../identity/engine/scopes.ts';
import { conflict, invalid } from '../../../kernel/errors.ts';
import * as store from '../../../identity/store/roles.ts';
import { grantView } from '../views/role.ts';

export const createGrant = operation(iam.createGrant, async ({ ctx, body }) =>
  ctx.write(async (tx) => {
    if ((organizationRoles as readonly string[]).includes(body.role)) {
      invalid(
        `${body.role} is a member’s place in the organization, not a grant; change it with PATCH /api/v1/organization/members/{userId}`,
      );
    }
    if (!(await store.lockMember(tx, ctx.org, body.subject)))
      invalid('subject is not a member of the organization; GET /api/v1/organization/members lists them');
    await store.shareRole(tx, ctx.org, body.role);
    const [use] = await checkRoleUses(tx, ctx, [body]);
    const grant =
      (await store.insertGrant(tx, ctx.org, { subject: body.subject, role: body.role, resourceIds: use!.resourceIds.sort() })) ??
      conflict('the member already holds this role this way');

    await audit(tx, ctx, 'iam.grant.create', grant, { subject: body.subject, role: body.role, resourceIds: use!.resourceIds });
    await ctx.app.caches.drop(tx, topics.user(ctx.org, body.subject));
    return created(grantView(grant, await customRoles(tx, ctx.org)), `/iam/grants/${grant.id}`);
  }),
);
