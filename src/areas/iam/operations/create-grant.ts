import { iam } from '../../../../contract/iam.ts';
import { created, operation } from '../../../identity/operation.ts';
import { topics } from '../../../identity/principal.ts';
import { customRoles } from '../../../identity/store/roles.ts';
import { grantRole } from '../engine/grants.ts';
import type { OpenIam } from '../open.ts';
import { grantView } from '../views/grant.ts';

export const createGrant = operation(iam.createGrant, async ({ ctx, body }, { resources }: OpenIam) =>
  ctx.write(
    async (tx) => {
      const grant = await grantRole(tx, ctx, body, resources);
      return created(grantView(grant, await customRoles(tx, ctx.org)), `/iam/grants/${grant.id}`);
    },
    { revokes: [topics.user(ctx.org, body.subject)] },
  ),
);
